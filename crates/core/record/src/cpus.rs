use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Processors by their part in a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Cpus {
    /// The first carries the measuring thread; all of them carry the lanes of phases and the programs
    /// that a trial starts.
    pub measure: Vec<u32>,
    /// The first carries helper threads; all of them carry the lab while a trial runs.
    pub help: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("processors `{text}`: {why}; write measure=LIST,help=LIST, as measure=2-3,help=0,1")]
pub struct CpusError {
    pub text: String,
    pub why: String,
}

/// Largest number of a processor: what the kernel's sets hold.
const NUMBER_MAX: u32 = 1023;

impl FromStr for Cpus {
    type Err = CpusError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = |why: String| CpusError { text: text.into(), why };
        let (mut measure, mut help) = (Vec::new(), Vec::new());
        let mut part = None;
        for word in text.split(',') {
            let (name, list) = word.split_once('=').map_or((None, word), |(n, l)| (Some(n), l));
            part = name.or(part);
            let into = match part {
                Some("measure") => &mut measure,
                Some("help") => &mut help,
                Some(other) => {
                    return Err(refused(format!("`{other}` is neither measure nor help")));
                }
                None => return Err(refused("a list needs a name".into())),
            };
            into.extend(range(list).ok_or_else(|| refused(format!("`{list}` is no list")))?);
        }
        if measure.is_empty() || help.is_empty() {
            return Err(refused("both measure and help need at least one".into()));
        }
        if let Some(both) = measure.iter().find(|number| help.contains(number)) {
            return Err(refused(format!("{both} cannot measure and help")));
        }
        for list in [&mut measure, &mut help] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(Cpus { measure, help })
    }
}

impl TryFrom<String> for Cpus {
    type Error = CpusError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Cpus> for String {
    fn from(cpus: Cpus) -> String {
        cpus.to_string()
    }
}

fn range(text: &str) -> Option<Vec<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last && last <= NUMBER_MAX).then(|| (first..=last).collect())
}

/// The processors of a list as the kernel writes it (`0-3,8`); empty for an empty list.
pub fn read_list(text: &str) -> Vec<u32> {
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// A list as the kernel writes it: `0-3,8`.
pub fn list_text(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "measure={},help={}", list_text(&self.measure), list_text(&self.help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_printed_back() {
        let cpus: Cpus = "help=0,1,measure=5,2-3".parse().expect("two lists");
        assert_eq!((cpus.measure.as_slice(), cpus.help.as_slice()), (&[2, 3, 5][..], &[0, 1][..]));
        assert_eq!(cpus.to_string(), "measure=2-3,5,help=0-1");
        assert_eq!(cpus.to_string().parse(), Ok(cpus));
        assert_eq!(read_list("0-2,7\n"), [0, 1, 2, 7]);
        assert!(read_list("\n").is_empty());
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_form() {
        let refused = |text: &str| text.parse::<Cpus>().expect_err(text).to_string();
        assert!(refused("2-3").contains("a list needs a name"));
        assert!(refused("measure=2").contains("both measure and help"));
        assert!(refused("measure=1,help=1-2").contains("1 cannot measure and help"));
        assert!(refused("measure=3-1,help=0").contains("`3-1` is no list"));
        assert!(refused("measure=1,lab=0").contains("`lab` is neither"));
        assert!(refused("measure=0-4000000000,help=0").ends_with("as measure=2-3,help=0,1"));
    }
}
