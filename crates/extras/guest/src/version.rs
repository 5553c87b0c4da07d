//! Versions of Debian packages and their order. Not a check of their syntax: what is odd still has a place.
//! Source: Debian Policy 5.6.12, deb-version(7).

use std::{cmp::Ordering, fmt};

/// A version, as Debian writes it: `[epoch:]upstream[-revision]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

impl Version {
    /// The `%3a` of an archive's name is a colon.
    pub fn new(text: &str) -> Self {
        Self(text.replace("%3a", ":"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The version asked for, or one of the series asked for: `6.1`, `6.1.176`.
    pub fn fits(&self, asked: &str) -> bool {
        let rest = self.numbers().strip_prefix(asked);
        self.0 == asked || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// With dots, as the upstream version begins.
    fn numbers(&self) -> &str {
        let (_, upstream, _) = self.parts();
        let end = upstream.find(|c: char| !c.is_ascii_digit() && c != '.');
        upstream[..end.unwrap_or(upstream.len())].trim_end_matches('.')
    }

    fn parts(&self) -> (u64, &str, &str) {
        let (epoch, rest) = self.0.split_once(':').unwrap_or(("0", &self.0));
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        (epoch.parse().unwrap_or(0), upstream, revision)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |(epoch, upstream, revision): (u64, &str, &str)| {
            (epoch, turns(upstream), turns(revision))
        };
        key(self.parts()).cmp(&key(other.parts()))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Text and numbers by turns, up to an empty turn: text by weight of its characters, numbers by value. A tilde stands
/// before the end of a text, the end before letters, letters before all else.
fn turns(mut rest: &str) -> Vec<(Vec<u32>, u64)> {
    let weight = |c: char| match c {
        '~' => 0,
        c if c.is_ascii_alphabetic() => u32::from(c),
        c => u32::from(c) + 256,
    };
    let mut turns = Vec::new();
    loop {
        let is_over = rest.is_empty();
        let (text, after) =
            rest.split_at(rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len()));
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (digits, after) = after.split_at(end);
        turns.push((text.chars().map(weight).chain([1]).collect(), digits.parse().unwrap_or(0)));
        if is_over {
            return turns;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_the_order_of_dpkg() {
        // Each before the next; every pair was asked of `dpkg --compare-versions`.
        let rising = "2.0um1 5.10um3 5.10um3+b1 6.1um4+b9 6.1um4+b13 6.1.176-1~bpo12+1 \
                      6.1.176-1 6.12um1+b21 6.12.95-1 6.12.107-1 7.2um1 7.2.13-1 1:1.0";
        let versions: Vec<_> = rising.split(' ').map(Version::new).collect();
        for (at, one) in versions.iter().enumerate() {
            for (place, other) in versions.iter().enumerate() {
                assert_eq!(one.cmp(other), at.cmp(&place), "{one} {other}");
            }
        }
        assert_eq!(Version::new("1.00").cmp(&Version::new("1.0")), Ordering::Equal);
    }

    #[test]
    fn a_level_is_a_series_or_a_version() {
        let fits = |version: &str, asked: &str| Version::new(version).fits(asked);
        assert!(fits("6.1um4+b13", "6.1") && fits("6.1um4+b13", "6.1um4+b13"));
        assert!(fits("6.12.107-1", "6.12") && fits("6.12.107-1", "6.12.107"));
        assert!(!fits("6.12um1", "6.1") && fits("6.1um4", "6"));
        assert!(!fits("6.12.107-1", "6.12.10") && !fits("6.1um4", "6.1.176"));
        assert_eq!(Version::new("6.1um4+b13").to_string(), "6.1um4+b13");
        assert_eq!(Version::new("1%3a7.2+dfsg-7").as_str(), "1:7.2+dfsg-7");
    }
}
