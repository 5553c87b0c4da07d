//! A condition on a value, as one text: `fdatasync`, `none|sparse`, `>=2`, `!=0`.
//!
//! Dotted numbers are compared part by part, as versions are: 5.14 is above 5.4.

use std::{cmp::Ordering, collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// What must hold of a row, by name: `workload`, `fs`, `label`, a level, a parameter, a fact.
pub type Scope = BTreeMap<String, Condition>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(from = "Value", into = "String")]
#[schemars(from = "String")]
pub enum Condition {
    OneOf(Vec<String>),
    Not(String),
    Side {
        is_above: bool,
        /// The number itself is legal too.
        has_equal: bool,
        number: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("condition `{text}` holds no value; write it like none|sparse, >=2 or !=0")]
pub struct ConditionError {
    pub text: String,
}

impl Condition {
    pub fn holds(&self, value: &str) -> bool {
        match self {
            Condition::OneOf(words) => words.iter().any(|word| same(word, value)),
            Condition::Not(word) => !same(word, value),
            Condition::Side { is_above, has_equal, number } => {
                let wanted = if *is_above { Ordering::Greater } else { Ordering::Less };
                match compared(value, number) {
                    Some(Ordering::Equal) => *has_equal,
                    found => found == Some(wanted),
                }
            }
        }
    }

    /// Behind the name of what it is asked of: `sync=none|sparse`, `lanes>=16`, `variant="alone, synced"`.
    pub fn of(&self, name: &str) -> String {
        let text = self.to_string();
        let must_quote = |c: char| c.is_whitespace() || [',', '"', '\\'].contains(&c);
        if text.contains(must_quote) || text.parse().as_ref() != Ok(self) {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            return format!("{name}=\"{text}\"");
        }
        match self {
            Condition::OneOf(_) => format!("{name}={self}"),
            Condition::Not(_) | Condition::Side { .. } => format!("{name}{self}"),
        }
    }

    /// The texts that it lists; none where it is a comparison.
    pub fn words(&self) -> &[String] {
        match self {
            Condition::OneOf(words) => words,
            Condition::Not(_) | Condition::Side { .. } => &[],
        }
    }
}

/// The same text, or the same dotted number: a parameter of 0 may be kept as 0.0.
fn same(one: &str, other: &str) -> bool {
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let both = is_number(one) && is_number(other);
    one == other || (both && compared(one, other) == Some(Ordering::Equal))
}

fn compared(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (parts(one), parts(other));
    if one.is_empty() || other.is_empty() {
        return None;
    }
    let length = one.len().max(other.len());
    let part = |parts: &[u64], index: usize| parts.get(index).copied().unwrap_or(0);
    let orders = (0..length).map(|index| part(&one, index).cmp(&part(&other, index)));
    Some(orders.fold(Ordering::Equal, Ordering::then))
}

/// `6.18.44-fc` as 6, 18, 44.
fn parts(text: &str) -> Vec<u64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ConditionError { text: text.into() };
        let some = |rest: &str| (!rest.is_empty()).then(|| rest.to_string()).ok_or_else(error);
        let signs =
            [(">=", true, true), ("<=", false, true), (">", true, false), ("<", false, false)];
        if let Some(rest) = text.strip_prefix("!=") {
            return Ok(Condition::Not(some(rest)?));
        }
        for (sign, is_above, has_equal) in signs {
            if let Some(rest) = text.strip_prefix(sign) {
                let number = some(rest).ok().filter(|number| !parts(number).is_empty());
                return Ok(Condition::Side {
                    is_above,
                    has_equal,
                    number: number.ok_or_else(error)?,
                });
            }
        }
        text.split('|').map(some).collect::<Result<_, _>>().map(Condition::OneOf)
    }
}

/// A level of an earlier file that is no condition is that level.
impl From<Value> for Condition {
    fn from(value: Value) -> Condition {
        let text = value.as_str().map_or_else(|| value.to_string(), String::from);
        text.parse().unwrap_or_else(|_| Condition::OneOf(vec![text]))
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> String {
        condition.to_string()
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::OneOf(words) => f.write_str(&words.join("|")),
            Condition::Not(word) => write!(f, "!={word}"),
            Condition::Side { is_above, has_equal, number } => {
                let sign = if *is_above { ">" } else { "<" };
                write!(f, "{sign}{}{number}", if *has_equal { "=" } else { "" })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(condition: &str, value: &str) -> bool {
        condition.parse::<Condition>().expect("legal").holds(value)
    }

    #[test]
    fn words_and_numbers_are_compared_as_written() {
        assert!(holds("none|sparse", "sparse") && !holds("none|sparse", "fallocate"));
        assert!(holds("!=0", "200") && !holds("!=0", "0"));
        assert!(holds("0", "0.0") && !holds("!=0", "0.0") && holds("2.5|64", "64.0"));
        assert!(!holds("6.1", "6.10") && !holds("64", "64k"));
        assert!(holds(">=2", "2") && holds(">=2", "64") && !holds(">2", "2"));
        assert!(holds(">=5.14", "6.18.44-fc") && holds(">5.4", "5.14.0") && !holds("<5.4", "5.14"));
        assert!(!holds(">=1", "many") && holds("<=2.6.33", "2.6.33-gentoo"));
    }

    #[test]
    fn an_empty_condition_says_what_to_write() {
        for text in ["", "a|", ">=", "!=", ">=x"] {
            let error = text.parse::<Condition>().expect_err("no value");
            assert!(error.to_string().contains("write it like"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(text in "[<>=!]{0,2}[a-z0-9.|-]{0,12}") {
            if let Ok(condition) = text.parse::<Condition>() {
                prop_assert_eq!(condition.to_string().parse::<Condition>(), Ok(condition));
            }
        }
    }

    #[test]
    fn an_earlier_level_that_is_no_condition_is_that_level() {
        for level in ["", ">", "<none>", "!="] {
            let read: Condition = serde_json::from_value(level.into()).expect("never refused");
            assert!(read.holds(level) && !read.holds("other"), "{level}");
            assert_eq!(serde_json::to_value(&read).expect("text"), Value::from(level));
        }
    }
}
