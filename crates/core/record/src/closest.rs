//! Not a search: a handful of names, compared whole.

/// How alike two words must be (Jaro-Winkler, from 0 to 1) for one to be a typo of the other.
const ALIKE: f64 = 0.84;

/// The closest of `known` to `word`, when it is close enough to be meant; capitals are small letters, and `_` is `-`.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let word = plain(word);
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&word, &plain(name)), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_a_stranger_finds_none() {
        let known = ["sync", "sync_every", "write_path", "rate"];
        assert_eq!(closest("synk", known), Some("sync"));
        assert_eq!(closest("write-path", known), Some("write_path"));
        assert_eq!(closest("writepath", known), Some("write_path"));
        assert_eq!(closest("colour", known), None);
        let plans = ["quick", "queue", "postgresql", "column"];
        assert_eq!(closest("Quick", plans), Some("quick"));
        assert_eq!(closest("postgres", plans), Some("postgresql"));
        assert_eq!(closest("zfs", plans), None);
        assert_eq!(closest("reiser5", ["ext4", "reiserfs", "xfs"]), Some("reiserfs"));
    }
}
