//! Hard conditions: what a candidate must have, whatever its speed.
//!
//! | text | met where |
//! |---|---|
//! | `durability=power-loss` | a completed operation survives at least that |
//! | `reflink`, or any key of `pickfs features` | the table of features has `yes` for it |
//! | `systems=Windows` | that system is named among those that read it |
//! | `distribution=RHEL` | that distribution supports it |
//! | `journal` | its driver keeps a journal, or copies on write |
//! | `untainted` | its driver is in the kernel's tree, or a program outside the kernel |
//! | `in-kernel` | the kernel's own driver serves it |
//! | `on-device` | data lies on a device and not in memory |
//! | `memory=4GiB` | it was measured on a machine with that much memory or less |
//!
//! What is neither measured nor written down is *not known*: the candidate stays and the verdict
//! says so.

use std::{fmt, str::FromStr};

use pickfs_record::{
    BackingKind, Durability,
    origin::Origin,
    quantity::{bytes_text, parse_bytes},
    typed::program,
};
use serde::{Serialize, Serializer};
use thiserror::Error;

use super::FeatureAnswers;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    Durability(Durability),
    System(String),
    Distribution(String),
    Journal,
    Untainted,
    InKernel,
    OnDevice,
    /// Measured with so many bytes of memory or fewer.
    Memory(u64),
    Feature(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "condition `{text}` not understood; write durability=process-crash|kernel-crash|power-loss, \
     systems=NAME, distribution=NAME, journal, untainted, in-kernel, on-device, memory=SIZE, or a key \
     of pickfs features like reflink"
)]
pub struct NeedError {
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Fit {
    Met {
        /// What a reader should know all the same.
        remark: String,
    },
    RuledOut {
        why: String,
    },
    NotKnown {
        why: String,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub label: &'a str,
    pub fs: &'a str,
    pub durability: Durability,
    pub backing: BackingKind,
    pub memory_bytes: Option<u64>,
    pub origin: Option<&'a Origin>,
    pub features: Option<&'a FeatureAnswers>,
}

fn met() -> Fit {
    Fit::Met { remark: String::new() }
}

fn met_if(holds: bool, why: impl FnOnce() -> String) -> Fit {
    if holds { met() } else { Fit::RuledOut { why: why() } }
}

impl Need {
    pub fn fit(&self, candidate: &Candidate<'_>) -> Fit {
        match self {
            Need::Durability(least) => {
                met_if(candidate.durability >= *least, || candidate.durability.to_string())
            }
            Need::OnDevice => {
                met_if(candidate.backing != BackingKind::Memory, || "it lies in memory".into())
            }
            Need::Memory(bytes) => memory(*bytes, candidate),
            Need::Feature(key) => feature(key, candidate),
            _ => match candidate.origin {
                Some(origin) => self.by_origin(origin),
                None => {
                    Fit::NotKnown { why: format!("nothing is written down of {}", candidate.fs) }
                }
            },
        }
    }

    fn by_origin(&self, origin: &Origin) -> Fit {
        let served = origin.served_by.text;
        match self {
            Need::System(name) => system(name, origin.systems.text),
            Need::Distribution(name) => distribution(name, origin.distributions.text),
            Need::Journal => journal(origin.journal.text),
            Need::Untainted => {
                met_if(!served.contains("outside the kernel's tree"), || served.into())
            }
            _ => met_if(served.starts_with("the kernel's "), || served.into()),
        }
    }
}

/// Statements on systems: parts between semicolons; `added` marks programs to be installed there.
fn system(name: &str, text: &str) -> Fit {
    let is_named = |part: &&str| words_hold(part, name);
    match text.split(';').find(is_named) {
        Some(part) if part.contains("added") => Fit::Met { remark: part.trim().into() },
        Some(_) => met(),
        None => Fit::RuledOut { why: format!("other systems: {text}") },
    }
}

/// Statements on distributions: those that support it stand before the first semicolon.
fn distribution(name: &str, text: &str) -> Fit {
    let (supported, rest) = text.split_once(';').unwrap_or((text, ""));
    if words_hold(supported, name) && !supported.trim_start().starts_with("not ") {
        return Fit::Met { remark: remark_behind(supported, name) };
    }
    match rest.split(';').any(|part| words_hold(part, name) && part.contains("not looked up")) {
        true => Fit::NotKnown { why: format!("distributions: {text}") },
        false => Fit::RuledOut { why: format!("distributions: {text}") },
    }
}

/// `Ubuntu (module in its kernel package)`: what stands in brackets behind a name.
fn remark_behind(text: &str, name: &str) -> String {
    let parts = text.split(", ").find(|part| words_hold(part, name));
    let inside =
        parts.and_then(|part| part.split_once('(')).map(|(_, rest)| rest.trim_end_matches(')'));
    inside.filter(|remark| !remark.starts_with("default")).unwrap_or_default().into()
}

fn words_hold(text: &str, name: &str) -> bool {
    let clean = |text: &str| -> String {
        let keep = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
        format!(
            " {} ",
            text.chars()
                .map(keep)
                .collect::<String>()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        )
    };
    clean(text).contains(&clean(name))
}

fn journal(text: &str) -> Fit {
    if text.contains("copy on write") || text.contains("log with checkpoints") {
        return Fit::Met { remark: text.trim_start_matches("none: ").into() };
    }
    met_if(!text.starts_with("none") && !text.contains("writes none"), || {
        format!("journal: {text}")
    })
}

fn memory(bytes: u64, candidate: &Candidate<'_>) -> Fit {
    let wanted = bytes_text(bytes);
    match candidate.memory_bytes {
        Some(had) if had <= bytes => met(),
        Some(had) => {
            Fit::NotKnown { why: format!("measured with {}, not with {wanted}", bytes_text(had)) }
        }
        None => Fit::NotKnown { why: "the run does not say how much memory there was".into() },
    }
}

fn feature(key: &str, candidate: &Candidate<'_>) -> Fit {
    let (program, fs) = (program(), candidate.fs);
    let how = || format!("{program} features --fs {fs} --json FILE, then --features FILE");
    let Some(features) = candidate.features else { return Fit::NotKnown { why: how() } };
    let Some(given) = features.of(candidate.label, candidate.fs, key) else {
        return Fit::NotKnown { why: how() };
    };
    match given.verdict.as_str() {
        "yes" => met(),
        "no" => Fit::RuledOut {
            why: if given.words.is_empty() { "no".into() } else { given.words.clone() },
        },
        "partly" => Fit::Met { remark: format!("{key} partly: {}", given.words) },
        other => Fit::NotKnown { why: format!("{key}: {other} {}", given.words) },
    }
}

impl FromStr for Need {
    type Err = NeedError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || NeedError { text: text.into() };
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let value = value.trim();
        Ok(match (name.trim(), value.is_empty()) {
            ("durability", _) => Need::Durability(durability(value).ok_or_else(error)?),
            ("systems", false) => Need::System(value.into()),
            ("distribution", false) => Need::Distribution(value.into()),
            ("memory", false) => Need::Memory(parse_bytes(value).map_err(|_| error())?),
            ("journal", true) => Need::Journal,
            ("untainted", true) => Need::Untainted,
            ("in-kernel", true) => Need::InKernel,
            ("on-device", true) => Need::OnDevice,
            ("systems" | "distribution" | "memory", true) | ("", _) | (_, false) => {
                return Err(error());
            }
            (key, true) => Need::Feature(key.into()),
        })
    }
}

fn durability(word: &str) -> Option<Durability> {
    serde_json::from_value(serde_json::Value::String(word.into())).ok()
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Durability(least) => {
                let word = serde_json::to_value(least).unwrap_or_default();
                write!(f, "durability={}", word.as_str().unwrap_or_default())
            }
            Need::System(name) => write!(f, "systems={name}"),
            Need::Distribution(name) => write!(f, "distribution={name}"),
            Need::Memory(bytes) => write!(f, "memory={}", bytes_text(*bytes)),
            Need::Journal => f.write_str("journal"),
            Need::Untainted => f.write_str("untainted"),
            Need::InKernel => f.write_str("in-kernel"),
            Need::OnDevice => f.write_str("on-device"),
            Need::Feature(key) => f.write_str(key),
        }
    }
}

impl Serialize for Need {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
