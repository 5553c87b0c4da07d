//! What a crash of the kernel leaves: pages reach the device in any order, so that the end of a queue may hold
//! commit words without their messages, and messages without their words.
//!
//! A crash of processes alone leaves nothing to recover: every state of a commit word is a good one.
//!
//! The first to open a queue after a boot walks through its last two segments. Behind the first slot that is not
//! whole everything is put aside, in a file beside the segment, and zeroed. Damage further back is left for the
//! tailer that meets it to refuse: it is no trace of a crash that the sync policy allows for.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::appender::last_begun;
use super::control::Control;
use super::error::{Error, Result};
use super::handle::begin_first;
use super::layout::HEADER_USED_BYTES;
use super::options::{Options, Retention};
use super::segment::Segment;
use super::segment::{Place, ReadBy};
use super::word::Slot;
use crate::map::Access;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Whole messages and left-out numbers in the segments that were looked at.
    pub slots: u64,
    /// Bytes from the cut to the last byte that was not zero; 0 where nothing had to be cut.
    pub cut_bytes: u64,
    pub put_aside: Vec<PathBuf>,
}

/// Unless somebody else has since the boot. Under the lock.
pub(crate) fn after_boot(
    control: &mut Control,
    options: &Options,
    boot_id: u128,
) -> Result<Option<Recovery>> {
    let recovery = {
        let _locked = control.lock()?;
        let header = Control::open(control.dir(), Access::Write)?.header;
        if header.boot_id == boot_id {
            None
        } else {
            control.remove_litter()?;
            remove_blank_segments(control)?;
            Some(recover(control)?)
        }
    };
    begin_first(control, options)?;
    if recovery.is_some() {
        control.set_boot_id(boot_id)?;
    }
    Ok(recovery)
}

fn remove_blank_segments(control: &Control) -> Result<()> {
    for number in control.segment_numbers()?.into_iter().rev() {
        let path = control.segment_path(number);
        let file = fs::File::open(&path).map_err(Error::io("open", &path))?;
        let mut head = [0; HEADER_USED_BYTES];
        let read = file.read_at(&mut head, 0).map_err(Error::io("read", &path))?;
        if read == head.len() && head.iter().any(|byte| *byte != 0) {
            break;
        }
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    Ok(())
}

fn recover(control: &Control) -> Result<Recovery> {
    let mut recovery = Recovery::default();
    if control.segment_numbers()?.is_empty() {
        return Ok(recovery);
    }
    let last = last_begun(control)?;
    let before = match last.number {
        0 | 1 => None,
        number => Segment::open(control, number - 1, Access::Write)?,
    };
    if let Some(before) = before {
        if before.begun()?.is_some() && !walk(&before, &mut recovery)?.is_ended {
            put_last_aside(control, &last, &mut recovery)?;
            return cut_behind(&before, &mut recovery).map(|()| recovery);
        }
    }
    if !walk(&last, &mut recovery)?.is_ended {
        cut_behind(&last, &mut recovery)?;
    }
    Ok(recovery)
}

struct Walked {
    place: Place,
    is_ended: bool,
}

/// To the end, or to the first slot that is not whole; claims have nobody any more.
fn walk(segment: &Segment, recovery: &mut Recovery) -> Result<Walked> {
    let mut place = Place::start(segment, segment.begun()?.unwrap_or(1));
    let mut buffer = Vec::new();
    loop {
        let found = segment.read(ReadBy::Mapping, place.offset_bytes, place.sequence, &mut buffer);
        match found {
            Ok((Slot::Message { payload_bytes, .. } | Slot::Void { payload_bytes }, _)) => {
                recovery.slots += 1;
                place.pass(payload_bytes);
            }
            Ok((Slot::End, _)) => return Ok(Walked { place, is_ended: true }),
            Ok(_) | Err(Error::Damage(_)) => {
                return Ok(Walked { place, is_ended: false });
            }
            Err(error) => return Err(error),
        }
    }
}

/// A segment behind one that has no end any more.
fn put_last_aside(control: &Control, last: &Segment, recovery: &mut Recovery) -> Result<()> {
    let aside = aside_path(last);
    fs::rename(&last.path, &aside).map_err(Error::io("put aside", &last.path))?;
    recovery.cut_bytes += last.known_bytes();
    recovery.put_aside.push(aside);
    // What was prepared behind it would otherwise be taken for its successor.
    for number in control.segment_numbers()?.into_iter().filter(|number| *number > last.number) {
        let path = control.segment_path(number);
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
    }
    Ok(())
}

fn aside_path(segment: &Segment) -> PathBuf {
    segment.path.with_extension("segment.cut")
}

/// Puts everything behind the last whole slot aside and makes it zeros; entries of the index too.
fn cut_behind(segment: &Segment, recovery: &mut Recovery) -> Result<()> {
    let mut again = Recovery::default();
    let start = walk(segment, &mut again)?.place.offset_bytes;
    let mut rest = vec![0; segment.known_bytes().saturating_sub(start) as usize];
    let path = &segment.path;
    let read = segment.file.read_at(&mut rest, start).map_err(Error::io("read", path))?;
    rest.truncate(read);
    let Some(last) = rest.iter().rposition(|byte| *byte != 0) else { return Ok(()) };
    let aside = aside_path(segment);
    fs::write(&aside, &rest[..=last]).map_err(Error::io("write", &aside))?;
    recovery.cut_bytes += last as u64 + 1;
    recovery.put_aside.push(aside);
    rest[..=last].fill(0);
    segment.file.write_all_at(&rest[..=last], start).map_err(Error::io("cut", path))?;
    segment.forget_entries_from(start)?;
    segment.file.sync_all().map_err(Error::io("sync", path))
}

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
    use std::time::Duration;

    use super::*;

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
