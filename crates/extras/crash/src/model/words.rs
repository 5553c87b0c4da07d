//! The words of a crash: `power-loss:any-order/4096/honest`.

use std::{fmt, str::FromStr};

use super::{Cache, Crash, Device, Flush, Unit};
use crate::log::SECTOR;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {word:?} is not known; use {allowed}")]
pub struct UnknownWord {
    pub what: &'static str,
    pub word: String,
    pub allowed: &'static str,
}

pub(crate) fn unknown(what: &'static str, word: &str, allowed: &'static str) -> UnknownWord {
    // A word of a stranger may be long.
    UnknownWord { what, word: word.chars().take(80).collect(), allowed }
}

const CACHES: [(&str, Cache); 3] =
    [("none", Cache::None), ("ordered", Cache::Ordered), ("any-order", Cache::AnyOrder)];
const FLUSHES: [(&str, Flush); 2] = [("honest", Flush::Honest), ("lying", Flush::Lying)];
const DISK: &str =
    "CACHE/UNIT/FLUSH: none, ordered or any-order; request or a multiple of 512; honest or lying";

fn word<T: PartialEq>(words: &[(&'static str, T)], of: T) -> &'static str {
    words.iter().find(|(_, known)| *known == of).map_or("", |(word, _)| word)
}

fn named<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, of)| *of)
}

fn unit(word: &str) -> Option<Unit> {
    let whole = |bytes: &u32| *bytes > 0 && u64::from(*bytes) % SECTOR == 0;
    match word {
        "request" => Some(Unit::Request),
        _ => word.parse().ok().filter(whole).map(Unit::Bytes),
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cache, flush) = (word(&CACHES, self.cache), word(&FLUSHES, self.flush));
        match self.unit {
            Unit::Bytes(bytes) => write!(f, "{cache}/{bytes}/{flush}"),
            Unit::Request => write!(f, "{cache}/request/{flush}"),
        }
    }
}

impl FromStr for Device {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let words: Vec<&str> = text.split('/').collect();
        let read = || {
            let [cache, bytes, flush] = words[..] else { return None };
            let (cache, flush) = (named(&CACHES, cache)?, named(&FLUSHES, flush)?);
            Some(Self { cache, unit: unit(bytes)?, flush })
        };
        read().ok_or_else(|| unknown("disk", text, DISK))
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProcessKill => f.pad("process-kill"),
            Self::KernelCrash => f.pad("kernel-crash"),
            Self::PowerLoss(device) => write!(f, "power-loss:{device}"),
        }
    }
}

impl FromStr for Crash {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match (text, text.strip_prefix("power-loss:")) {
            ("process-kill", _) => Ok(Self::ProcessKill),
            ("kernel-crash", _) => Ok(Self::KernelCrash),
            ("power-loss", _) => Ok(Self::PowerLoss(Device::default())),
            (_, Some(device)) => device.parse().map(Self::PowerLoss),
            _ => Err(unknown("crash", text, "process-kill, kernel-crash or power-loss:DISK")),
        }
    }
}

impl serde::Serialize for Crash {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crash_reads_back_as_it_was_printed() {
        let all = "process-kill kernel-crash power-loss:none/512/honest \
                   power-loss:ordered/16384/lying power-loss:any-order/request/honest";
        for crash in all.split(' ') {
            assert_eq!(crash.parse::<Crash>().unwrap().to_string(), crash);
        }
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        let error = "power-loss:any/4096/honest".parse::<Crash>().unwrap_err();
        let words = "disk \"any/4096/honest\" is not known; use CACHE/UNIT/FLUSH: none, ";
        assert!(error.to_string().starts_with(words), "{error}");
        for wrong in " power-loss: power-loss:none/0/honest power-loss:none/1000/honest".split(' ')
        {
            assert!(wrong.parse::<Crash>().is_err(), "{wrong}");
        }
    }
}
