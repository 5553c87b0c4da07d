/// What a format or its driver holds at most. What depends on how it was made (inodes, free space, the longest
/// name) is asked from the kernel instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest file, in bytes.
    pub file_bytes_max: Option<u64>,
    pub directory: Directory,
    /// Names that one file may have; 0 where there are no hard links.
    pub hard_links_max: Option<u32>,
    pub has_symbolic_links: bool,
    pub subdirectories_max: Option<u32>,
    /// Whether upper and lower case are one.
    pub is_case_blind: bool,
    /// Whether it may store fewer bytes than were written.
    pub compresses: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directory {
    Unlimited,
    Names(u32),
    /// So many entries of fixed size; a name takes `fixed` of them and one for each
    /// `characters` characters.
    Entries {
        entries: u32,
        fixed: u32,
        characters: u32,
    },
}

impl Directory {
    /// The most names of so many bytes that are certain to fit.
    pub fn names_max(self, name_bytes: u32) -> Option<u32> {
        match self {
            Directory::Unlimited => None,
            Directory::Names(names) => Some(names),
            Directory::Entries { entries, fixed, characters } => {
                // Two entries are the directory itself and its parent.
                Some((entries - 2) / (fixed + name_bytes.div_ceil(characters)))
            }
        }
    }
}

impl Limits {
    /// None that is known.
    pub const NONE: Limits = Limits {
        file_bytes_max: None,
        directory: Directory::Unlimited,
        hard_links_max: None,
        has_symbolic_links: true,
        subdirectories_max: None,
        is_case_blind: false,
        compresses: false,
    };

    /// Each directory in another is a link of that; its own two names count.
    pub const fn links(hard_links_max: u32) -> Limits {
        let subdirectories_max = Some(hard_links_max - 2);
        Limits { hard_links_max: Some(hard_links_max), subdirectories_max, ..Limits::NONE }
    }

    pub const fn compressing() -> Limits {
        Limits { compresses: true, ..Limits::NONE }
    }
}

/// Of types that are no candidates, as a directory may have them.
pub(super) const OF_OTHERS: &[(&str, Limits)] = &[
    ("msdos", Limits { directory: Directory::Names(65_534), ..super::fat::LIMITS }),
    // MINIX_LINK_MAX in fs/minix/minix.h: that of version 1; the others have 65,530.
    ("minix", Limits::links(250)),
];
