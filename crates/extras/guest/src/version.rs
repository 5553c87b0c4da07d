//! Versions of Debian packages: their order, and the series of a kernel in them. Not a check of their
//! syntax: what is odd still has a place.
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

    /// `6.12` of `6.12.107-1`; empty where it does not begin with a number.
    pub fn series(&self) -> String {
        self.numbers().split('.').take(2).collect::<Vec<_>>().join(".")
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
        let (here, there) = (self.parts(), other.parts());
        let by_epoch = here.0.cmp(&there.0);
        by_epoch.then_with(|| order(here.1, there.1)).then_with(|| order(here.2, there.2))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Text and numbers by turns: text by weight of its characters, numbers by value.
fn order(mut here: &str, mut there: &str) -> Ordering {
    while !here.is_empty() || !there.is_empty() {
        let (text, other) = (head(&mut here, false), head(&mut there, false));
        let length = text.len().max(other.len());
        let weights = |part: &str| (0..length).map(|at| weight(part, at)).collect::<Vec<_>>();
        let by_text = weights(text).cmp(&weights(other));
        let (number, other) = (head(&mut here, true), head(&mut there, true));
        let plain = |digits: &str| {
            let digits = digits.trim_start_matches('0').to_owned();
            (digits.len(), digits)
        };
        let found = by_text.then_with(|| plain(number).cmp(&plain(other)));
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// Takes the digits, or the text before the next one, off the front.
fn head<'a>(text: &mut &'a str, digits: bool) -> &'a str {
    let end = text.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    *text = rest;
    first
}

/// A tilde stands before the end of a text, the end before letters, letters before all else.
fn weight(text: &str, at: usize) -> i32 {
    match text.as_bytes().get(at) {
        Some(b'~') => -1,
        None => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_the_order_of_dpkg() {
        // Each before the next; every pair was asked of `dpkg --compare-versions`.
        let rising = [
            "2.0um1",
            "5.10um3",
            "5.10um3+b1",
            "6.1um4+b9",
            "6.1um4+b13",
            "6.1.176-1~bpo12+1",
            "6.1.176-1",
            "6.12um1+b21",
            "6.12.95-1",
            "6.12.107-1",
            "7.2um1",
            "7.2.13-1",
            "1:1.0",
        ];
        let versions: Vec<_> = rising.iter().map(|text| Version::new(text)).collect();
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
        assert_eq!(Version::new("6.12.107-1~bpo12+1").series(), "6.12");
        assert_eq!(Version::new("6.1um4+b13").series(), "6.1");
        assert_eq!(Version::new("1%3a7.2+dfsg-7").as_str(), "1:7.2+dfsg-7");
    }
}
