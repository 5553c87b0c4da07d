use serde::Serialize;

use crate::phases::RowRatio;

/// What a row says of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Both find the same one faster.
    SameSide,
    /// They find opposite ones faster.
    OppositeSide,
    /// The table has a difference, the run none at its precision.
    NoDifferenceHere,
    /// The run has a difference, the table prints 1.
    OnlyHere,
    /// Neither has one.
    NoDifference,
    /// Too few blocks for any interval.
    TooFewBlocks,
    /// The run has no figure.
    NotMeasured,
    /// The table has no figure.
    NotPublished,
}

/// In the order of the words.
pub const WORDS: [(Word, &str); 8] = [
    (Word::SameSide, "same side"),
    (Word::OppositeSide, "opposite side"),
    (Word::NoDifferenceHere, "no difference here"),
    (Word::OnlyHere, "only here"),
    (Word::NoDifference, "no difference"),
    (Word::TooFewBlocks, "too few blocks"),
    (Word::NotMeasured, "not measured"),
    (Word::NotPublished, "not published"),
];

impl Word {
    pub fn text(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// A published ratio is on a side where two decimals tell it from 1.
    pub fn of(published: Option<f64>, measured: Option<RowRatio>) -> Word {
        let (Some(published), Some(measured)) = (published, measured) else {
            return if measured.is_none() { Word::NotMeasured } else { Word::NotPublished };
        };
        let Some((low, high)) = measured.interval else { return Word::TooFewBlocks };
        let printed = (published * 100.0).round() / 100.0;
        let (theirs, ours) = (side(printed, printed), side(low, high));
        match (theirs, ours) {
            (0, 0) => Word::NoDifference,
            (_, 0) => Word::NoDifferenceHere,
            (0, _) => Word::OnlyHere,
            (theirs, ours) if theirs == ours => Word::SameSide,
            _ => Word::OppositeSide,
        }
    }
}

/// 1 above one, -1 below it, 0 at or around it.
fn side(low: f64, high: f64) -> i8 {
    i8::from(low > 1.0) - i8::from(high < 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_from_intervals() {
        let ratio = |low, high| RowRatio { value: 1.2, interval: Some((low, high)), blocks: 8 };
        let said = |published, low, high| Word::of(Some(published), Some(ratio(low, high)));
        assert_eq!(said(1.0, 0.9, 1.1), Word::NoDifference);
        assert_eq!(said(1.004, 1.1, 1.3), Word::OnlyHere);
        assert_eq!(said(0.0, 0.5, 0.7), Word::SameSide);
        assert_eq!(said(0.0, 1.5, 1.7), Word::OppositeSide);
        assert_eq!(Word::of(None, Some(ratio(1.1, 1.2))), Word::NotPublished);
        assert_eq!(Word::of(None, None), Word::NotMeasured);
        assert!((0..).zip(WORDS).all(|(at, (word, _))| word as usize == at));
    }
}
