//! What is read beside the scheduler's events when slow operations are explained: off unless asked for,
//! as it costs more.

use serde::{Deserialize, Serialize};

use crate::quantity::parse_duration_ns;

/// What is read beside.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct ExplainAlso {
    /// So many samples a second of where watched threads are while they have a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples_hz: Option<u32>,
    /// Commits, write-back and requests of devices, of the whole machine.
    #[serde(default)]
    pub context: bool,
}

/// Samples a second at most: the kernel's own limit is 100,000, and each costs some microseconds.
pub const SAMPLES_HZ_MAX: u32 = 10_000;

impl ExplainAlso {
    pub fn is_nothing(&self) -> bool {
        *self == ExplainAlso::default()
    }

    /// Words with commas between them: a time above which operations are slow, `samples=HZ`, `context`.
    /// Each may be missing.
    pub fn parse(text: &str) -> Result<(Option<u64>, ExplainAlso), String> {
        let (mut above_ns, mut also) = (None, ExplainAlso::default());
        for word in text.split(',').map(str::trim) {
            match (word, word.strip_prefix("samples=")) {
                (_, Some(hz)) => also.samples_hz = Some(samples_hz(hz)?),
                ("context", _) => also.context = true,
                _ => above_ns = Some(parse_duration_ns(word).map_err(|error| error.to_string())?),
            }
        }
        Ok((above_ns, also))
    }
}

pub fn samples_hz(word: &str) -> Result<u32, String> {
    match word.parse() {
        Ok(hz @ 1..=SAMPLES_HZ_MAX) => Ok(hz),
        _ => Err(format!("{word} samples a second: a number from 1 to {SAMPLES_HZ_MAX} is wanted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_any_order_and_each_may_be_missing() {
        let also = |samples_hz, context| ExplainAlso { samples_hz, context };
        assert_eq!(ExplainAlso::parse("2ms"), Ok((Some(2_000_000), also(None, false))));
        assert_eq!(ExplainAlso::parse("context, 2ms"), Ok((Some(2_000_000), also(None, true))));
        assert_eq!(ExplainAlso::parse("samples=99"), Ok((None, also(Some(99), false))));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for text in ["soon", "samples=0", "samples=10001", "samples=fast", ""] {
            assert!(ExplainAlso::parse(text).is_err(), "{text}");
        }
        assert!(ExplainAlso::parse("samples=0").is_err_and(|why| why.contains("1 to 10000")));
    }
}
