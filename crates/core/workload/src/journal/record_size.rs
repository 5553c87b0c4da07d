//! The size of a record follows from the seed and its sequence alone, so that verification needs
//! no list.

use pickfs_record::quantity::parse_bytes;
use serde_json::Value;

use crate::journal::content::scrambled;

pub(super) const SIZE_BYTES_MAX: u64 = 1 << 20;

pub(super) const ALLOWED: &str = "a size from 1 byte to 1 MiB (256, 4KiB), a range (64-1024), sizes \
                                  with weights (100*9,4KiB*1), or recorded";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecordSize {
    Fixed(u32),
    Uniform(u32, u32),
    Weighted(Vec<(u32, u64)>),
    /// The sizes of a recording, from the front again when it ends.
    Recorded(Vec<u32>),
}

impl RecordSize {
    pub(super) fn parse(value: &Value) -> Option<RecordSize> {
        if let Some(bytes) = value.as_u64() {
            return legal(bytes).map(RecordSize::Fixed);
        }
        let text = value.as_str()?.trim();
        if text == "recorded" {
            return Some(RecordSize::Recorded(Vec::new()));
        }
        if text.contains('*') {
            return weighted(text);
        }
        match text.split_once('-') {
            Some((low, high)) => {
                let (low, high) = (size(low)?, size(high)?);
                (low <= high).then_some(RecordSize::Uniform(low, high))
            }
            None => size(text).map(RecordSize::Fixed),
        }
    }

    /// The value in its one spelling: a number when fixed.
    pub(super) fn canonical(value: &Value) -> Option<Value> {
        Some(match RecordSize::parse(value)? {
            RecordSize::Fixed(bytes) => bytes.into(),
            RecordSize::Uniform(low, high) => format!("{low}-{high}").into(),
            RecordSize::Weighted(_) | RecordSize::Recorded(_) => value.as_str()?.trim().into(),
        })
    }

    pub(super) fn largest_bytes(&self) -> u32 {
        match self {
            RecordSize::Fixed(bytes) | RecordSize::Uniform(_, bytes) => *bytes,
            RecordSize::Weighted(sizes) => sizes.iter().map(|s| s.0).max().unwrap_or(1),
            RecordSize::Recorded(sizes) => sizes.iter().copied().max().unwrap_or(1),
        }
    }

    #[inline]
    pub(super) fn of(&self, seed: u64, sequence: u64) -> u32 {
        match self {
            RecordSize::Fixed(bytes) => *bytes,
            RecordSize::Uniform(low, high) => {
                let width = u64::from(high - low) + 1;
                low + (scrambled(seed ^ 0x512E, sequence) % width) as u32
            }
            RecordSize::Weighted(sizes) => {
                let total = sizes.last().map_or(1, |last| last.1);
                let drawn = scrambled(seed ^ 0x512E, sequence) % total;
                let at = sizes.partition_point(|(_, sum)| *sum <= drawn);
                sizes.get(at).map_or(1, |found| found.0)
            }
            RecordSize::Recorded(sizes) => {
                let at = sequence.saturating_sub(1) % sizes.len().max(1) as u64;
                sizes.get(at as usize).copied().unwrap_or(1)
            }
        }
    }
}

fn legal(bytes: u64) -> Option<u32> {
    (1..=SIZE_BYTES_MAX).contains(&bytes).then_some(bytes as u32)
}

fn size(text: &str) -> Option<u32> {
    legal(parse_bytes(text).ok()?)
}

fn weighted(text: &str) -> Option<RecordSize> {
    let mut sum = 0u64;
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let (bytes, weight) = part.split_once('*')?;
        let weight: u32 = weight.trim().parse().ok().filter(|weight| *weight > 0)?;
        sum += u64::from(weight);
        sizes.push((size(bytes)?, sum));
    }
    Some(RecordSize::Weighted(sizes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_read_and_nonsense_is_not() {
        assert_eq!(RecordSize::parse(&json!("4KiB")), Some(RecordSize::Fixed(4096)));
        assert_eq!(RecordSize::parse(&json!("64 - 1KiB")), Some(RecordSize::Uniform(64, 1024)));
        let list = RecordSize::parse(&json!("100*9, 4KiB*1")).unwrap();
        assert_eq!(list, RecordSize::Weighted(vec![(100, 9), (4096, 10)]));
        for bad in [json!(0), json!("2MiB"), json!("9-3"), json!("a*1"), json!("5*0"), json!(true)]
        {
            assert_eq!(RecordSize::parse(&bad), None, "{bad}");
        }
        assert_eq!(RecordSize::canonical(&json!("256")), Some(json!(256)));
    }

    #[test]
    fn draws_keep_to_their_shares_and_repeat_by_seed() {
        let sizes = RecordSize::parse(&json!("100*9,4096*1")).unwrap();
        let large = (1..=100_000).filter(|n| sizes.of(7, *n) == 4096).count();
        assert!((9_000..11_000).contains(&large), "{large}");
        let range = RecordSize::Uniform(10, 12);
        assert!((1..1000).all(|n| (10..=12).contains(&range.of(1, n))));
        assert!((1..1000).all(|n| range.of(1, n) == range.of(1, n)));
        assert!((1..1000).any(|n| range.of(1, n) != range.of(2, n)));
    }
}
