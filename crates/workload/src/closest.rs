//! The known name that a typo most likely meant. Not a search: a handful of names, compared whole.

/// The closest of `known` to `word`, when it is close enough to be meant.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = word.len().max(3) / 3 + 1;
    known
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, name)| name)
}

/// Insertions, deletions and replacements between two words (Levenshtein), `-` equal to `_`.
fn distance(from: &str, to: &str) -> usize {
    let same = |a: u8, b: u8| a == b || (matches!(a, b'-' | b'_') && matches!(b, b'-' | b'_'));
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(!same(a, b));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
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
    }
}
