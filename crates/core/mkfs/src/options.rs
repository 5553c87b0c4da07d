//! What a caller may choose. The defaults are fixed values, so that the same size always gives the
//! same bytes.

use crate::error::MakeError;
use crate::kind::Kind;

/// 2026-01-01 00:00 UTC: what a volume says of its making unless told otherwise.
pub const MADE_S: u64 = 1_767_225_600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// In printable ASCII.
    pub label: String,
    /// In seconds after 1970-01-01 00:00 UTC.
    pub made_s: u64,
    /// A serial number, where the format has one.
    pub id: u64,
    pub contents: Contents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Head and tail of the place hold zeros only.
    MustBeEmpty,
    MayBeErased,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            label: "pickfs".into(),
            made_s: MADE_S,
            id: 0x7069_636b_6673_0001,
            contents: Contents::MustBeEmpty,
        }
    }
}

impl Options {
    /// Refuses a label that is empty, too long, not printable ASCII, or holds a sign that the
    /// format gives a meaning.
    pub(crate) fn check_label(
        &self,
        kind: Kind,
        bytes_max: usize,
        reserved: &[char],
    ) -> Result<(), MakeError> {
        let label = &self.label;
        let refuse = |why| Err(MakeError::Label { kind, label: label.clone(), why });
        if label.is_empty() {
            return refuse("it is empty");
        }
        if label.len() > bytes_max {
            return refuse("it is too long");
        }
        if !label.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            return refuse("it has signs other than printable ASCII");
        }
        if label.contains(reserved) {
            return refuse("it has a sign that ends names there");
        }
        Ok(())
    }

    pub(crate) fn check_time(
        &self,
        kind: Kind,
        earliest_s: u64,
        latest_s: u64,
    ) -> Result<(), MakeError> {
        if (earliest_s..=latest_s).contains(&self.made_s) {
            return Ok(());
        }
        Err(MakeError::Time { kind, made_s: self.made_s, earliest_s, latest_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_refused_with_what_is_against_it() {
        let refused = |label: &str| {
            let options = Options { label: label.into(), ..Options::default() };
            options.check_label(Kind::Affs, 5, &[':']).unwrap_err().to_string()
        };
        assert_eq!(
            refused("toolong"),
            "affs cannot have the label `toolong`: it is too long; choose another"
        );
        assert!(refused("").contains("it is empty"));
        assert!(refused("a:b").contains("ends names"));
        assert!(refused("ä").contains("printable ASCII"));
    }
}
