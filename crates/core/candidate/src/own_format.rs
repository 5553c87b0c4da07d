//! The `format` step: a file system made by `pickfs-mkfs`, in this process. The interlock is asked
//! by the step before it.

use std::path::Path;

use pickfs_mkfs::Kind;

use crate::calls::size_of;
use crate::error::TargetError;
use crate::named_device::open_exclusively;

pub(crate) fn format(fs: &str, device: &Path, words: &[String]) -> Result<String, TargetError> {
    let unknown = || TargetError::unknown_call("format", &[fs.into()]);
    let kind = Kind::named(fs).ok_or_else(unknown)?;
    let size_bytes = match asked_size(fs, words)? {
        Some(bytes) => bytes,
        None => size_of(device)?,
    };
    let file = open_exclusively(device)?;
    Ok(kind.format(&file, size_bytes)?.to_string())
}

pub(crate) fn asked_size(fs: &str, words: &[String]) -> Result<Option<u64>, TargetError> {
    let mut size = None;
    for word in words {
        let bytes = word.strip_prefix("size=").and_then(|bytes| bytes.parse().ok());
        let unknown = || {
            let text = format!("our formatter of {fs} knows no option `{word}`; leave it out");
            TargetError::Other(text)
        };
        size = Some(bytes.ok_or_else(unknown)?);
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_the_only_word() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(asked_size("hpfs", &words("")).unwrap(), None);
        assert_eq!(asked_size("hpfs", &words("size=4096")).unwrap(), Some(4096));
        assert_eq!(
            asked_size("hpfs", &words("size=4096 -J")).unwrap_err().to_string(),
            "our formatter of hpfs knows no option `-J`; leave it out"
        );
    }

    #[test]
    fn every_row_with_an_own_formatter_names_a_kind() {
        let own = |row: &&crate::fs::FileSystem| row.formatter == crate::fs::Formatter::Own;
        let names = crate::fs::FILE_SYSTEMS.iter().filter(own).map(|row| row.name);
        let mut found: Vec<_> =
            names.inspect(|name| assert!(Kind::named(name).is_some())).collect();
        found.sort_unstable();
        assert_eq!(found, Kind::ALL.map(Kind::name));
    }
}
