//! The archive of Debian 12, from which guests have their kernel, for packages that the sources of
//! this machine do not name. apt reads it with a configuration of its own in the cache, checks its
//! signature as ever (apt-secure(8)), and nothing of the machine's apt changes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::packages::{PackageCache, PackageError};

/// Compressed, of main and contrib.
const LISTS_BYTES: u64 = 9_000_000;
const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

#[derive(Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
}

impl Archive {
    pub(crate) fn open(cache: &PackageCache, package: &str) -> Result<Archive, PackageError> {
        let archive = Archive { folder: cache.cache().join("archive") };
        let failed = |said: String| PackageError::Failed {
            program: "apt-get update",
            package: package.into(),
            said,
            cache: cache.cache().to_owned(),
        };
        if archive.folder.join("whole").is_file() {
            return Ok(archive);
        }
        cache.allow(format!("lists of Debian 12's archive for {package}"), LISTS_BYTES)?;
        let keyring = KEYRINGS.into_iter().find(|path| Path::new(path).exists());
        let keyring = keyring.ok_or_else(|| failed("install debian-archive-keyring".into()))?;
        archive.prepare(keyring).map_err(|error| failed(error.to_string()))?;
        let mut update = Command::new("apt-get");
        update.args(["-q", "update"]).env("APT_CONFIG", archive.configuration());
        let output =
            update.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if !output.status.success() {
            return Err(failed(said));
        }
        fs::write(archive.folder.join("whole"), "").map_err(|error| failed(error.to_string()))?;
        Ok(archive)
    }

    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join("apt.conf")
    }

    fn prepare(&self, keyring: &str) -> std::io::Result<()> {
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(self.folder.join(folder))?;
        }
        fs::write(self.folder.join("sources.list"), sources(keyring))?;
        fs::write(self.folder.join("status"), "")?;
        fs::write(self.configuration(), configuration(&self.folder))
    }
}

fn sources(keyring: &str) -> String {
    format!("deb [check-valid-until=no signed-by={keyring}] {MIRROR} bookworm main contrib\n")
}

fn configuration(folder: &Path) -> String {
    let at = folder.display();
    format!(
        "Dir::State \"{at}\";\nDir::State::lists \"{at}/lists\";\nDir::State::status \"{at}/status\";\n\
         Dir::Cache \"{at}/cache\";\nDir::Etc::sourcelist \"{at}/sources.list\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\nAPT::Sandbox::User \"root\";\n\
         Acquire::Languages \"none\";\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_has_contrib_and_is_signed() {
        let line = sources("/keys");
        assert!(line.contains("signed-by=/keys") && line.ends_with("bookworm main contrib\n"));
    }

    #[test]
    fn nothing_of_the_machines_apt_is_written() {
        let text = configuration(Path::new("/cache/archive"));
        let state = text
            .lines()
            .filter(|line| line.starts_with("Dir::State") || line.starts_with("Dir::Cache"));
        assert!(state.into_iter().all(|line| line.contains("\"/cache/archive")), "{text}");
    }
}
