//! Small files of /proc and /sys that hold one setting: read one, write one, and see whether the
//! kernel took it.

use crate::refused::{Refused, cannot};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    path: PathBuf,
}

impl Tunable {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// As sysctl(8) writes it: `vm.dirty_ratio`.
    pub fn sysctl(name: &str) -> Self {
        Self::at(Path::new("/proc/sys").join(name.replace('.', "/")))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Without the line end.
    pub fn read(&self) -> Result<String, Refused> {
        text(&self.path)
    }

    /// In one write, and reads it back. A list of words is compared by its chosen word.
    pub fn write(&self, value: &str) -> Result<(), Refused> {
        let path = self.path.display();
        std::fs::write(&self.path, value)
            .map_err(cannot(format!("write `{value}` to {path}"), "root"))?;
        let found = self.read()?;
        if found == value || chosen_word(&found) == value {
            return Ok(());
        }
        let text = format!("{path} shows `{found}` after `{value}` was written to it");
        Err(Refused::new(text, None))
    }
}

/// The word in brackets, or the whole text where there are none.
pub fn chosen_word(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(word, _)| word)
}

/// A whole file as text, without white space at its ends. Bytes that are not UTF-8 are replaced.
pub(crate) fn text(path: &Path) -> Result<String, Refused> {
    let bytes = std::fs::read(path).map_err(cannot(format!("read {}", path.display()), "root"))?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Like [`text`], for files that not every kernel has or that not everybody may read.
pub fn text_if_any(path: impl AsRef<Path>) -> Option<String> {
    text(path.as_ref()).ok().filter(|text| !text.is_empty())
}

pub(crate) fn number_if_any<N: FromStr>(path: impl AsRef<Path>) -> Option<N> {
    text_if_any(path)?.parse().ok()
}

/// In order; none where there is no such directory.
pub fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_value_is_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let setting = Tunable::at(file.path());
        setting.write("20").unwrap();
        assert_eq!(setting.read().unwrap(), "20");
    }

    #[test]
    fn a_value_that_the_kernel_does_not_keep_is_an_error() {
        let error = Tunable::at("/dev/null").write("20").unwrap_err().to_string();
        assert_eq!(error, "/dev/null shows `` after `20` was written to it");
    }

    #[test]
    fn a_missing_setting_is_named() {
        let error = Tunable::sysctl("vm.no_such_thing").read().unwrap_err().to_string();
        assert!(error.starts_with("cannot read /proc/sys/vm/no_such_thing: "), "{error}");
    }

    #[test]
    fn a_text_without_brackets_is_its_own_choice() {
        assert_eq!(chosen_word("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen_word("tsc"), "tsc");
        assert_eq!(chosen_word("a ]b["), "a ]b[");
    }
}
