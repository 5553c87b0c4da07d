use std::fs;

use super::control::Control;
use super::error::{Error, Result};
use super::options::Retention;
use super::segment::Segment;
use crate::map::Access;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retired {
    pub segments: u64,
    pub bytes: u64,
    /// The limits would have let more go, and a tailer needs it.
    pub held_by_tailer: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Full {
    number: u64,
    bytes: u64,
    /// First sequence of the segment behind it.
    end_sequence: u64,
    /// When the segment behind it began.
    ended_ns: u64,
}

pub(crate) fn retire(control: &Control, limits: &Retention, now_ns: u64) -> Result<Retired> {
    let _locked = control.lock()?;
    control.remove_litter()?;
    let full = full_segments(control)?;
    let needed = control.needed_sequence()?;
    let mut retired = Retired::default();
    for at in 0..full.len() {
        if !goes(&full[at..], limits, now_ns) {
            break;
        }
        if needed.is_some_and(|needed| needed < full[at].end_sequence) {
            retired.held_by_tailer = true;
            break;
        }
        let path = control.segment_path(full[at].number);
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        retired.segments += 1;
        retired.bytes += full[at].bytes;
    }
    Ok(retired)
}

fn goes(full: &[Full], limits: &Retention, now_ns: u64) -> bool {
    let Some(first) = full.first() else { return false };
    let sum: u64 = full.iter().map(|one| one.bytes).sum();
    let age_ns = u128::from(now_ns.saturating_sub(first.ended_ns));
    limits.segments.is_some_and(|most| full.len() as u64 > most)
        || limits.bytes.is_some_and(|most| sum > most)
        || limits.age.is_some_and(|longest| age_ns > longest.as_nanos())
}

fn full_segments(control: &Control) -> Result<Vec<Full>> {
    let mut full = Vec::new();
    let mut before: Option<Segment> = None;
    for number in control.segment_numbers()? {
        let Some(segment) = Segment::open(control, number, Access::Write)? else { continue };
        let Some(first_sequence) = segment.begun()? else { break };
        if let Some(one) = before {
            let ended_ns = segment.first_time_ns();
            let bytes = one.known_bytes();
            full.push(Full { number: one.number, bytes, end_sequence: first_sequence, ended_ns });
        }
        before = Some(segment);
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn full(number: u64) -> Full {
        Full { number, bytes: 100, end_sequence: number * 10, ended_ns: number * 1_000 }
    }

    #[test]
    fn each_limit_lets_the_oldest_go_and_none_keeps_all() {
        let all = [full(1), full(2), full(3)];
        assert!(!goes(&all, &Retention::default(), 1 << 40));
        assert!(goes(&all, &Retention { segments: Some(2), ..Retention::default() }, 0));
        assert!(!goes(&all, &Retention { segments: Some(3), ..Retention::default() }, 0));
        assert!(goes(&all, &Retention { bytes: Some(299), ..Retention::default() }, 0));
        assert!(!goes(&all, &Retention { bytes: Some(300), ..Retention::default() }, 0));
        let age = Retention { age: Some(Duration::from_nanos(500)), ..Retention::default() };
        assert!(goes(&all, &age, 1_501));
        assert!(!goes(&all, &age, 1_500));
        assert!(!goes(&[], &age, 1 << 40));
    }
}
