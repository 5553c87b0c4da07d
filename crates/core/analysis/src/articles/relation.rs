//! How subject and object of a claim stand to each other, as one text.
//!
//! | text | holds where |
//! |---|---|
//! | `faster`, `slower` | the interval of the ratio lies on that side of 1 |
//! | `at least 5` | the interval lies at or above that many times |
//! | `about equal`, `within 1.3` | the interval lies between 1/1.1 (1/1.3) and 1.1 (1.3) |
//! | `not slower but 1.3` | the interval lies over 1/1.3: slower by less than that, or faster |
//! | `differs` | the interval leaves out 1 on either side; of several pairs one is enough |
//! | `dominates`, `dominates but 1` | over several rows: faster in each (in all but that many, and in over half) |
//! | `mixed` | over several rows: faster in some and slower in others |
//! | `under 20us`, `over 1ms` | the interval of a value lies under it, or over it |
//! | `reaches 100000` | a rate is that many a second or more |
//! | `none`, `some` | a count is zero, or not; a cause has its part of the slow time |
//! | `yes`, `no` | a feature is there, or not; a source says it, or not |
//! | `fails`, `works` | a phase never came to its end, or always did |
//! | `advised` | nothing to compare |

use std::{fmt, str::FromStr};

use pickfs_record::quantity::{duration_text, parse_duration_ns};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Ratios closer to 1 than this are about equal.
const ABOUT_EQUAL: f64 = 1.1;

/// What a claim says of subject and object.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Relation {
    /// The subject is faster.
    Faster,
    /// The subject is slower.
    Slower,
    /// The subject is faster by this ratio or more; above 1.
    AtLeast(f64),
    /// The two are within this ratio of each other; above 1.
    Within(f64),
    /// The subject is not slower by this ratio; above 1.
    NotSlower(f64),
    /// One of the two is faster, whichever it is.
    Differs,
    /// Faster in all rows but so many, which are fewer than the others.
    Dominates(u32),
    /// Neither of the two is ahead in all rows that differ.
    Mixed,
    /// A value stays under so many nanoseconds.
    Under(u64),
    /// A value gets over so many nanoseconds.
    Over(u64),
    /// A rate is so many a second, or more.
    Reaches(f64),
    /// A count is zero.
    None,
    /// A count is not zero.
    Some,
    /// It has the feature.
    Yes,
    /// It lacks the feature.
    No,
    /// It never comes to its end.
    Fails,
    /// It always comes to its end.
    Works,
    /// Nothing to compare.
    Advised,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "relation `{text}` not understood; write faster, at least 2, within 1.1, dominates, under 20us, some"
)]
pub struct RelationError {
    pub text: String,
}

const WORDS: [(&str, Relation); 13] = [
    ("faster", Relation::Faster),
    ("slower", Relation::Slower),
    ("about equal", Relation::Within(ABOUT_EQUAL)),
    ("differs", Relation::Differs),
    ("dominates", Relation::Dominates(0)),
    ("mixed", Relation::Mixed),
    ("none", Relation::None),
    ("some", Relation::Some),
    ("yes", Relation::Yes),
    ("no", Relation::No),
    ("fails", Relation::Fails),
    ("works", Relation::Works),
    ("advised", Relation::Advised),
];

impl Relation {
    /// Two rows with each other: it needs an object.
    pub fn compares(self) -> bool {
        use Relation::{Dominates, Mixed};
        self.is_speed() || matches!(self, Dominates(_) | Mixed)
    }

    /// Of one ratio of two rows.
    pub(super) fn is_speed(self) -> bool {
        use Relation::{AtLeast, Differs, Faster, NotSlower, Slower, Within};
        matches!(self, Faster | Slower | AtLeast(_) | Within(_) | NotSlower(_) | Differs)
    }

    /// One pair bears it out, whatever the others say.
    pub(super) fn needs_one(self) -> bool {
        matches!(self, Relation::Differs | Relation::Mixed)
    }

    /// A value beside a bound, and not beside another row.
    pub fn is_bound(self) -> bool {
        matches!(self, Relation::Under(_) | Relation::Over(_) | Relation::Reaches(_))
    }
}

impl FromStr for Relation {
    type Err = RelationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((_, relation)) = WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*relation);
        }
        let ratio =
            |rest: &str| rest.parse::<f64>().ok().filter(|ratio| ratio.is_finite() && *ratio > 1.0);
        let duration = |rest: &str| parse_duration_ns(rest).ok();
        let after = |words: &str| text.strip_prefix(words);
        let read = [
            after("at least ").and_then(ratio).map(Relation::AtLeast),
            after("within ").and_then(ratio).map(Relation::Within),
            after("not slower but ").and_then(ratio).map(Relation::NotSlower),
            after("reaches ").and_then(ratio).map(Relation::Reaches),
            after("dominates but ").and_then(|rows| rows.parse().ok()).map(Relation::Dominates),
            after("under ").and_then(duration).map(Relation::Under),
            after("over ").and_then(duration).map(Relation::Over),
        ];
        read.into_iter().flatten().next().ok_or(RelationError { text: text.into() })
    }
}

impl TryFrom<String> for Relation {
    type Error = RelationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Relation> for String {
    fn from(relation: Relation) -> String {
        relation.to_string()
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Relation::AtLeast(ratio) => write!(f, "at least {ratio}"),
            Relation::Within(ratio) => write!(f, "within {ratio}"),
            Relation::NotSlower(ratio) => write!(f, "not slower but {ratio}"),
            Relation::Reaches(rate) => write!(f, "reaches {rate}"),
            Relation::Dominates(rows) if *rows > 0 => write!(f, "dominates but {rows}"),
            Relation::Under(value_ns) => write!(f, "under {}", duration_text(*value_ns as f64)),
            Relation::Over(value_ns) => write!(f, "over {}", duration_text(*value_ns as f64)),
            other => {
                let word = WORDS.iter().find(|(_, relation)| relation == other);
                f.write_str(word.map_or("advised", |(word, _)| word))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_read() {
        let read = |text: &str| text.parse::<Relation>().expect(text);
        assert_eq!(read("about equal"), Relation::Within(1.1));
        assert_eq!(read("at least 5"), Relation::AtLeast(5.0));
        assert_eq!(read("dominates but 2"), Relation::Dominates(2));
        assert_eq!(read("not slower but 1.3"), Relation::NotSlower(1.3));
        assert_eq!(
            (read("under 20us"), read("over 1ms")),
            (Relation::Under(20_000), Relation::Over(1_000_000))
        );
        assert_eq!(read("mixed").to_string(), "mixed");
        assert_eq!(read("over 1ms").to_string(), "over 1.00 ms");
        for text in [
            "faster",
            "at least 2.5",
            "within 1.3",
            "not slower but 1.5",
            "differs",
            "dominates but 2",
            "under 20us",
            "none",
        ] {
            assert_eq!(read(&read(text).to_string()), read(text));
        }
    }

    #[test]
    fn what_is_not_understood_says_what_to_write() {
        for text in ["", "quicker", "at least 0.5", "within 1", "under soon", "dominates but one"] {
            let error = text.parse::<Relation>().expect_err("not legal").to_string();
            assert!(error.contains("write faster"), "{text}");
        }
    }
}
