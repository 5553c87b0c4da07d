//! The guest kernel that a module is for, known by its unpacked Debian package.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ModuleError;

/// Debian's user-mode Linux, as `dpkg -x` leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UmlKernel {
    /// Version as the kernel says it of itself: `6.1.176`.
    pub release: String,
    /// Its configuration, compressed by gzip.
    pub config: PathBuf,
}

impl UmlKernel {
    /// Looks at an unpacked package.
    ///
    /// # Errors
    /// [`ModuleError::NotUnpacked`] where modules or configuration are not in it.
    pub fn of_package(folder: &Path) -> Result<Self, ModuleError> {
        let missing = |what| ModuleError::NotUnpacked { folder: folder.to_owned(), what };
        let entries = fs::read_dir(folder.join("usr/lib/uml/modules"));
        let mut names = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let release = names.next().ok_or_else(|| missing("usr/lib/uml/modules"))?;
        let config = folder.join("usr/share/doc/user-mode-linux/config.gz");
        if !config.is_file() {
            return Err(missing("usr/share/doc/user-mode-linux/config.gz"));
        }
        Ok(Self { release, config })
    }

    /// The source package of its series: `linux-source-6.1`.
    pub(crate) fn source_package(&self) -> String {
        let series: Vec<&str> = self.release.split(['.', '-']).take(2).collect();
        format!("linux-source-{}", series.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_says_its_release() {
        let folder = tempfile::tempdir().unwrap();
        let refused = UmlKernel::of_package(folder.path()).unwrap_err();
        assert!(refused.is_skip() && refused.to_string().contains("usr/lib/uml/modules"));
        fs::create_dir_all(folder.path().join("usr/lib/uml/modules/6.1.176")).unwrap();
        assert!(UmlKernel::of_package(folder.path()).is_err());
        let doc = folder.path().join("usr/share/doc/user-mode-linux");
        fs::create_dir_all(&doc).unwrap();
        fs::write(doc.join("config.gz"), "").unwrap();
        let kernel = UmlKernel::of_package(folder.path()).unwrap();
        assert_eq!(kernel.release, "6.1.176");
        assert_eq!(kernel.source_package(), "linux-source-6.1");
    }
}
