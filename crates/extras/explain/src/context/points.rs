//! The trace points of context, as a table: what begins with one, what ends with another, and by which of
//! their fields the two belong together.
//!
//! Source: include/trace/events/{jbd2,writeback,block,ext4,btrfs}.h and fs/xfs/xfs_trace.h of the kernel.

use crate::kernel::trace_format::{NoField, TraceField, TraceFormat};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    Begins,
    Ends,
    /// Both at once: only one moment of it is told.
    Is,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) moment: Moment,
    what: &'static str,
    /// Fields whose numbers name it; of a work of a thread, the thread's.
    key: &'static [&'static str],
    /// The field with the device; empty where there is none.
    device: &'static str,
}

const fn point(
    (group, name): (&'static str, &'static str),
    moment: Moment,
    what: &'static str,
    key: &'static [&'static str],
    device: &'static str,
) -> Point {
    Point { group, name, moment, what, key, device }
}

pub(super) const SYNC: &str = "sync of a file";
pub(super) const REQUEST: &str = "device request";

pub(super) const POINTS: [Point; 14] = [
    point(("jbd2", "jbd2_start_commit"), Moment::Begins, "ext4 journal commit", &["dev"], "dev"),
    point(("jbd2", "jbd2_end_commit"), Moment::Ends, "ext4 journal commit", &["dev"], "dev"),
    point(("jbd2", "jbd2_checkpoint"), Moment::Is, "ext4 journal checkpoint", &[], "dev"),
    point(("ext4", "ext4_sync_file_enter"), Moment::Begins, SYNC, &["common_pid"], "dev"),
    point(("ext4", "ext4_sync_file_exit"), Moment::Ends, SYNC, &["common_pid"], "dev"),
    point(("xfs", "xlog_iclog_sync"), Moment::Begins, "xfs log write", &["dev", "lsn"], "dev"),
    point(("xfs", "xlog_iclog_sync_done"), Moment::Ends, "xfs log write", &["dev", "lsn"], "dev"),
    point(("xfs", "xfs_file_fsync"), Moment::Is, SYNC, &[], "dev"),
    point(("btrfs", "btrfs_transaction_commit"), Moment::Is, "btrfs transaction commit", &[], ""),
    point(("btrfs", "btrfs_sync_file"), Moment::Is, SYNC, &[], ""),
    point(
        ("writeback", "writeback_start"),
        Moment::Begins,
        "write-back",
        &["common_pid"],
        "sb_dev",
    ),
    point(
        ("writeback", "writeback_written"),
        Moment::Ends,
        "write-back",
        &["common_pid"],
        "sb_dev",
    ),
    point(("block", "block_rq_issue"), Moment::Begins, REQUEST, &["dev", "sector"], "dev"),
    point(("block", "block_rq_complete"), Moment::Ends, REQUEST, &["dev", "sector"], "dev"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextEvent {
    pub time_ns: u64,
    pub moment: Moment,
    pub what: &'static str,
    /// The same at its beginning and its end.
    pub kind: &'static str,
    pub key: (u64, u64),
    /// As the kernel numbers it; 0 for none.
    pub device: u32,
    /// The one that began it, by its number on the machine.
    pub thread: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Placed {
    point: Point,
    key: Vec<TraceField>,
    device: Option<TraceField>,
    thread: TraceField,
    request: Option<TraceField>,
}

impl Placed {
    pub(super) fn of(point: Point, format: &TraceFormat) -> Result<Placed, NoField> {
        let field = |name: &str| format.field(name).cloned();
        let key = point.key.iter().map(|name| field(name)).collect::<Result<_, _>>()?;
        let device = if point.device.is_empty() { None } else { Some(field(point.device)?) };
        let request = if point.what == REQUEST { Some(field("rwbs")?) } else { None };
        Ok(Placed { point, key, device, thread: field("common_pid")?, request })
    }

    /// `None` when it is cut off.
    pub(super) fn event(&self, time_ns: u64, raw: &[u8]) -> Option<ContextEvent> {
        let number = |field: &TraceField| field.integer(raw).map(|number| number as u64);
        // The sector of a flush is told as 0 when it is issued, and as -1 when it is complete.
        let key = |at: usize| self.key.get(at).map_or(Some(0), number);
        let key = |at: usize| key(at).map(|key| if key == u64::MAX { 0 } else { key });
        let what = match &self.request {
            Some(field) => request(field.text(raw)?),
            None => self.point.what,
        };
        Some(ContextEvent {
            time_ns,
            moment: self.point.moment,
            what,
            kind: self.point.what,
            key: (key(0)?, key(1)?),
            device: self.device.as_ref().map_or(Some(0), number)? as u32,
            thread: number(&self.thread)? as u32,
        })
    }
}

/// The letters of `blk_fill_rwbs()`: the operation is one of them, the others are its flags.
fn request(letters: &[u8]) -> &'static str {
    let has = |letter| letters.contains(&letter);
    match () {
        () if has(b'D') => "device discard",
        () if has(b'W') => "device write",
        () if has(b'R') => "device read",
        () if has(b'F') => "device flush",
        () => "device request",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue() -> Placed {
        let format = "name: block_rq_issue\nID: 9\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
            \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
            \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";
        let point = POINTS.iter().find(|point| point.name == "block_rq_issue").unwrap();
        Placed::of(*point, &TraceFormat::parse(format).unwrap()).unwrap()
    }

    #[test]
    fn a_request_is_known_by_its_device_and_sector() {
        let mut raw = vec![0; 48];
        raw[4..8].copy_from_slice(&77u32.to_ne_bytes());
        raw[8..12].copy_from_slice(&(7u32 << 20).to_ne_bytes());
        raw[16..24].copy_from_slice(&4_096u64.to_ne_bytes());
        raw[34..37].copy_from_slice(b"FWS");
        let event = issue().event(500, &raw).unwrap();
        assert_eq!((event.what, event.thread, event.device), ("device write", 77, 7 << 20));
        assert_eq!((event.moment, event.key), (Moment::Begins, (7 << 20, 4_096)));
        assert_eq!(issue().event(500, &raw[..20]), None);
        raw[16..24].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert_eq!(issue().event(500, &raw).unwrap().key, (7 << 20, 0), "a flush");
    }

    #[test]
    fn letters_of_a_request_name_its_operation() {
        let words = [&b"FF"[..], b"RA", b"WFSM", b"DS", b"N"].map(request);
        let expected =
            ["device flush", "device read", "device write", "device discard", "device request"];
        assert_eq!(words, expected);
    }

    #[test]
    fn what_begins_has_an_end_with_the_same_key() {
        for begins in POINTS.iter().filter(|point| point.moment == Moment::Begins) {
            let mut ends = POINTS.iter().filter(|point| point.moment == Moment::Ends);
            assert!(ends.any(|end| end.what == begins.what && end.key == begins.key), "{begins:?}");
        }
    }
}
