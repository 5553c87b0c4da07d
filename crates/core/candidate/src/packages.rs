//! How the distribution that this runs on calls a package, and what installs it: the list of
//! `./run` and `./test`, `scripts/packages`, in which Debian's name is the key of a row.

const LIST: &str = include_str!("../../../../scripts/packages");

/// In the order of the list's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Debian,
    Fedora,
    Suse,
    Arch,
    Alpine,
}

/// The words of os-release(5) by which a family is known, and what installs its packages.
const FAMILIES: [(Family, &[&str], &str); 5] = [
    (Family::Debian, &["debian", "ubuntu"], "apt-get install"),
    (Family::Fedora, &["fedora", "rhel", "centos"], "dnf install"),
    (Family::Suse, &["suse", "opensuse"], "zypper install"),
    (Family::Arch, &["arch"], "pacman -S"),
    (Family::Alpine, &["alpine"], "apk add"),
];

impl Family {
    /// As `./run` finds it; Debian where it is none of these.
    pub fn here() -> Family {
        let file = std::env::var_os("PICKFS_OS_RELEASE").unwrap_or("/etc/os-release".into());
        Family::of(&std::fs::read_to_string(file).unwrap_or_default()).unwrap_or(Family::Debian)
    }

    /// By `ID` first and then by `ID_LIKE`.
    pub fn of(os_release: &str) -> Option<Family> {
        let words = ["ID=", "ID_LIKE="].into_iter().flat_map(|key| {
            let value = os_release.lines().find_map(|line| line.strip_prefix(key));
            value.unwrap_or_default().trim_matches(['"', '\'']).split(' ')
        });
        words.into_iter().find_map(|word| {
            FAMILIES.iter().find(|(_, known, _)| known.contains(&word)).map(|(family, ..)| *family)
        })
    }

    /// `None` where it has none.
    pub fn name(self, of_debian: &'static str) -> Option<&'static str> {
        if self == Family::Debian {
            return Some(of_debian);
        }
        rows()
            .find(|row| row[1] == of_debian)
            .map(|row| row[1 + self as usize])
            .filter(|it| *it != "-")
    }

    /// Without sudo.
    pub fn install_of(self, of_debian: &'static str) -> String {
        match self.name(of_debian) {
            Some(name) => format!("{} {name}", self.install()),
            None => format!("no package of this distribution has it; Debian's is {of_debian}"),
        }
    }

    /// The words before the names of packages, without sudo.
    pub fn install(self) -> &'static str {
        FAMILIES[self as usize].2
    }
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs;

    #[test]
    fn every_program_of_the_table_stands_in_the_list_with_its_package() {
        for program in fs::programs() {
            let package = program.package.split(' ').next().unwrap();
            assert!(rows().any(|row| row[1] == package), "{} {package}", program.name);
        }
    }

    #[test]
    fn every_row_has_a_name_or_a_hyphen_for_each_family() {
        for row in rows() {
            assert!(row.len() > 7 && row[6].contains(char::is_alphabetic), "{row:?}");
        }
    }

    #[test]
    fn a_distribution_is_known_by_what_it_is_and_then_by_what_it_is_like() {
        assert_eq!(Family::of("NAME=x\nID=debian\n"), Some(Family::Debian));
        assert_eq!(Family::of("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"), Some(Family::Debian));
        assert_eq!(
            Family::of("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n"),
            Some(Family::Suse)
        );
        assert_eq!(Family::of("ID=alpine\n"), Some(Family::Alpine));
        assert_eq!(Family::of("ID=nixos\n"), None);
    }

    #[test]
    fn each_family_has_its_own_name_and_words() {
        let told = |family: Family| (family.install(), family.name("btrfs-progs").unwrap());
        assert_eq!(told(Family::Debian), ("apt-get install", "btrfs-progs"));
        assert_eq!(told(Family::Suse), ("zypper install", "btrfsprogs"));
        assert_eq!(told(Family::Arch), ("pacman -S", "btrfs-progs"));
        assert_eq!(told(Family::Alpine), ("apk add", "btrfs-progs"));
        assert_eq!(Family::Suse.install_of("qemu-system-x86"), "zypper install qemu-x86");
    }
}
