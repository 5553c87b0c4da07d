//! UFS1 and UFS2 of the BSDs. Two rows, one driver, which writes only where
//! the kernel was built with CONFIG_UFS_FS_WRITE (Debian's is not).
//! Source: `Documentation/admin-guide/ufs.rst`.

use pickfs_model::{CandidateSpec, Step};

use super::{FileSystem, Lack, Needs, Place, recipe};

/// The rows of UFS.
pub enum Ufs {
    /// `ufs`: the format of 4.4BSD.
    One,
    /// `ufs2`: 64-bit, from FreeBSD 5.
    Two,
}

impl FileSystem for Ufs {
    fn name(&self) -> &'static str {
        match self {
            Ufs::One => "ufs",
            Ufs::Two => "ufs2",
        }
    }

    fn origin(&self) -> &'static str {
        "From Berkeley (1983) and FreeBSD (2003); served by the ufs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["ufs"],
            "the kernel module ufs writes only if built with CONFIG_UFS_FS_WRITE, which Debian's \
             is not",
            "",
            "",
        )
        .without_formatter(
            "Debian packages no newfs for UFS since ufsutils left; makefs writes image files \
             only, and its UFS2 superblock lies where Linux does not look",
        )
    }

    fn make(&self, _spec: &CandidateSpec, _place: &Place) -> Vec<Step> {
        vec![recipe::call("make", "no-formatter", [self.name()])]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut options = spec.mount_options.clone();
        if recipe::option_value(&options, "ufstype").is_none() {
            let kind = match self {
                Ufs::One => "ufstype=44bsd",
                Ufs::Two => "ufstype=ufs2",
            };
            options.insert(0, kind.into());
        }
        recipe::mount_device("ufs", options, place)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate, Lack::DirectIo, Lack::UserAttributes]
    }
}
