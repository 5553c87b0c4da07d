//! Names of journal files: ten digits or more and `.journal`, for instance `0000000042.journal`.

const SUFFIX: &str = ".journal";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Journal(u64),
    /// It ends like a journal file, and its stem is not ten digits or more.
    Misnamed,
    Other,
}

pub(crate) fn of_index(index: u64) -> String {
    format!("{index:010}{SUFFIX}")
}

pub(crate) fn parse(name: &str) -> Name {
    let Some(stem) = name.strip_suffix(SUFFIX) else {
        return Name::Other;
    };
    match stem.parse() {
        Ok(index) if of_index(index) == name => Name::Journal(index),
        _ => Name::Misnamed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_that_we_would_give_is_ours() {
        assert_eq!(parse(&of_index(42)), Name::Journal(42));
        assert_eq!(parse("42.journal"), Name::Misnamed);
        assert_eq!(parse("+000000042.journal"), Name::Misnamed);
        assert_eq!(parse("0000000042.journal.cut"), Name::Other);
    }
}
