//! Looks through all files of a journal and says what is whole, what is torn and what is damaged.
//! [`crate::recover`] acts on it.

use crate::error::{Damage, DamageKind, Error, Result};
use crate::evidence::LaterRecords;
use crate::layout::{
    FILE_HEADER_BYTES, FILE_HEADER_USED_BYTES, FileHeader, HeaderFlaw, RecordHeader,
};
use crate::name::{self, Name};
use crate::recovery::Holes;
use crate::scan::{self, Step, Window};
use crate::storage::{Open, Storage, StorageFile};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Used {
    pub(crate) index: u64,
    pub(crate) first_sequence: u64,
    pub(crate) records: u64,
    pub(crate) end_bytes: u64,
    end: DamageKind,
}

impl Used {
    /// The one before the first record where there is none.
    pub(crate) fn last_sequence(&self) -> u64 {
        self.first_sequence + self.records - 1
    }
}

/// Where the whole records end although bytes follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hole {
    pub(crate) index: u64,
    pub(crate) offset_bytes: u64,
    pub(crate) kind: DamageKind,
    pub(crate) expected: u64,
}

#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) journal_id: Option<u64>,
    pub(crate) files: Vec<Used>,
    pub(crate) unused: Vec<u64>,
    pub(crate) hole: Option<Hole>,
    pub(crate) hole_bytes: u64,
    pub(crate) later: LaterRecords,
    pub(crate) set_aside: Vec<u64>,
    pub(crate) next_index: u64,
}

struct Head<F> {
    index: u64,
    file: F,
    header: std::result::Result<FileHeader, HeaderFlaw>,
    /// The header is that of a former life: the file was renamed to be recycled and not begun again.
    begun_before: bool,
}

pub(crate) fn survey<S: Storage>(storage: &S, holes: Holes) -> Result<Survey> {
    let mut heads = Vec::new();
    for index in indices(storage)? {
        heads.push(read_head(storage, index)?);
    }
    let journal_id = agree_on_id(&heads)?;
    let mut survey = Survey {
        journal_id,
        files: Vec::new(),
        unused: Vec::new(),
        hole: None,
        hole_bytes: 0,
        later: LaterRecords::default(),
        set_aside: Vec::new(),
        next_index: heads.last().map_or(1, |head| head.index + 1),
    };
    for head in &heads {
        survey.add(head)?;
    }
    survey.judge(holes)?;
    if survey.hole.is_none() {
        survey.look_at_tail(&heads)?;
    }
    Ok(survey)
}

/// Rising. A file with a name that only looks like ours is refused.
pub(crate) fn indices<S: Storage>(storage: &S) -> Result<Vec<u64>> {
    let names = storage.list().map_err(Error::io("list", storage.describe()))?;
    let mut indices = Vec::new();
    for entry in names {
        match name::parse(&entry) {
            Name::Journal(index) => indices.push(index),
            Name::Other => {}
            Name::Misnamed => {
                let reason = "its name is not ten digits and .journal".to_owned();
                return Err(Error::Foreign { file: entry, reason });
            }
        }
    }
    indices.sort_unstable();
    Ok(indices)
}

/// Claimed by the header, if the file has one.
pub(crate) fn claimed_index<F: StorageFile>(file: &F, index: u64) -> Result<Option<u64>> {
    let failed = || Error::io("read", name::of_index(index));
    let mut window = Window::new(file).map_err(failed())?;
    let bytes = window.get(0, FILE_HEADER_USED_BYTES).map_err(failed())?;
    Ok(FileHeader::decode(bytes).ok().map(|header| header.file_index))
}

/// One that another file left there counts as blank.
pub(crate) fn header_of<F: StorageFile>(
    file: &F,
    index: u64,
) -> Result<std::result::Result<FileHeader, HeaderFlaw>> {
    let name = name::of_index(index);
    let mut window = Window::new(file).map_err(Error::io("read", name.clone()))?;
    let bytes = window.get(0, FILE_HEADER_USED_BYTES).map_err(Error::io("read", name.clone()))?;
    match FileHeader::decode(bytes) {
        Err(HeaderFlaw::Magic) => {
            let reason = "it does not start with the mark of a journal file (framing raw has none)"
                .to_owned();
            Err(Error::Foreign { file: name, reason })
        }
        Err(HeaderFlaw::Format(format)) => {
            let reason =
                format!("its layout is version {format}, and this program reads version 1");
            Err(Error::Foreign { file: name, reason })
        }
        Ok(header) if header.file_index > index => {
            let reason = format!("its header says that it is file {}", header.file_index);
            Err(Error::Foreign { file: name, reason })
        }
        // A recycled file that was renamed and not used yet.
        Ok(header) if header.file_index < index => Ok(Err(HeaderFlaw::Blank)),
        other => Ok(other),
    }
}

fn read_head<S: Storage>(storage: &S, index: u64) -> Result<Head<S::File>> {
    let name = name::of_index(index);
    let file = storage.open(&name, Open::Read).map_err(Error::io("open", name))?;
    let header = header_of(&file, index)?;
    let begun_before = claimed_index(&file, index)?.is_some_and(|claimed| claimed < index);
    Ok(Head { index, file, header, begun_before })
}

fn agree_on_id<F>(heads: &[Head<F>]) -> Result<Option<u64>> {
    let mut agreed = None;
    for head in heads {
        let Ok(header) = head.header else {
            continue;
        };
        if *agreed.get_or_insert(header.journal_id) != header.journal_id {
            let reason = "it belongs to another journal".to_owned();
            return Err(Error::Foreign { file: name::of_index(head.index), reason });
        }
    }
    Ok(agreed)
}

impl Survey {
    fn expected(&self) -> Option<u64> {
        self.files.last().map(|file| file.last_sequence() + 1)
    }

    fn add<F: StorageFile>(&mut self, head: &Head<F>) -> Result<()> {
        match head.header {
            Ok(header) => self.add_headed(head, header),
            Err(_) if head.begun_before => {
                self.unused.push(head.index);
                Ok(())
            }
            Err(flaw) => self.add_headless(head, flaw),
        }
    }

    /// A blank file was never used. One with a blank header in front of other bytes was begun, and a power
    /// cut took the header before it was synced. A header is written in one sector, so a wrong one is not
    /// the work of any crash.
    fn add_headless<F: StorageFile>(&mut self, head: &Head<F>, flaw: HeaderFlaw) -> Result<()> {
        let failed = || Error::io("read", name::of_index(head.index));
        let mut window = Window::new(&head.file).map_err(failed())?;
        let bytes = scan::bytes_not_blank(&mut window, 0).map_err(failed())?;
        let holds_no_record = window.length_bytes() <= FILE_HEADER_BYTES;
        if bytes == 0 || (holds_no_record && flaw == HeaderFlaw::Blank) {
            self.unused.push(head.index);
            return Ok(());
        }
        let expected = self.expected().unwrap_or(1);
        let kind = DamageKind::FileHeader;
        let hole = Hole { index: head.index, offset_bytes: 0, kind, expected };
        if flaw == HeaderFlaw::Checksum {
            return Err(damage(hole, self.later));
        }
        self.hole.get_or_insert(hole);
        self.set_aside.push(head.index);
        Ok(())
    }

    fn add_headed<F: StorageFile>(&mut self, head: &Head<F>, header: FileHeader) -> Result<()> {
        let failed = || Error::io("read", name::of_index(head.index));
        let mut window = Window::new(&head.file).map_err(failed())?;
        if let Some(expected) = self.expected() {
            if header.first_sequence < expected && self.hole.is_none() {
                let kind = DamageKind::Overlap(header.first_sequence);
                let at = Hole { index: head.index, offset_bytes: 0, kind, expected };
                return Err(damage(at, LaterRecords::default()));
            }
            if header.first_sequence > expected && self.hole.is_none() {
                self.hole = self.hole_behind_last(expected);
            }
        }
        if self.hole.is_some() {
            let found = scan::later_records(&mut window, FILE_HEADER_BYTES, header.salt(), 0);
            self.later.absorb(found.map_err(failed())?);
            self.later.durable_through = self.later.durable_through.max(header.durable_through);
            self.set_aside.push(head.index);
            return Ok(());
        }
        let used = walk(&mut window, head.index, header).map_err(failed())?;
        let (salt, last) = (header.salt(), used.last_sequence());
        let later =
            scan::later_records(&mut window, used.end_bytes, salt, last).map_err(failed())?;
        self.files.push(used);
        if !later.is_empty() {
            self.later = later;
            self.hole = self.hole_behind_last(last + 1);
            let bytes = scan::bytes_not_blank(&mut window, used.end_bytes);
            self.hole_bytes = bytes.map_err(failed())?;
        }
        Ok(())
    }

    fn hole_behind_last(&self, expected: u64) -> Option<Hole> {
        self.files.last().map(|last| Hole {
            index: last.index,
            offset_bytes: last.end_bytes,
            kind: last.end,
            expected,
        })
    }

    /// A hole with whole records behind it is damage, unless it may be cut as never synced.
    fn judge(&self, holes: Holes) -> Result<()> {
        let Some(hole) = self.hole else {
            return Ok(());
        };
        let was_synced = self.later.prove_durable(hole.expected);
        let nothing_lost =
            self.later.count == 0 && !was_synced && hole.kind != DamageKind::FileHeader;
        let may_cut = holes == Holes::CutUnsynced && !was_synced;
        if nothing_lost || may_cut {
            return Ok(());
        }
        Err(damage(hole, self.later))
    }

    /// Bytes behind the last record of the last file, with no whole record among them, are a torn tail.
    fn look_at_tail<F: StorageFile>(&mut self, heads: &[Head<F>]) -> Result<()> {
        let Some(last) = self.files.last().copied() else {
            return Ok(());
        };
        let Some(head) = heads.iter().find(|head| head.index == last.index) else {
            return Ok(());
        };
        let recycled = matches!(head.header, Ok(header) if header.recycled);
        let expected = last.last_sequence() + 1;
        let looked = torn_bytes(&head.file, last.end_bytes, recycled, expected);
        self.hole_bytes = looked.map_err(Error::io("read", name::of_index(last.index)))?;
        if self.hole_bytes > 0 {
            self.hole = self.hole_behind_last(expected);
        }
        Ok(())
    }
}

pub(crate) fn damage(hole: Hole, later: LaterRecords) -> Error {
    Error::Damage(Box::new(Damage {
        file: name::of_index(hole.index),
        offset_bytes: hole.offset_bytes,
        kind: hole.kind,
        expected_sequence: hole.expected,
        later,
    }))
}

fn walk<F: StorageFile>(
    window: &mut Window<'_, F>,
    index: u64,
    header: FileHeader,
) -> std::io::Result<Used> {
    let mut used = Used {
        index,
        first_sequence: header.first_sequence,
        records: 0,
        end_bytes: FILE_HEADER_BYTES,
        end: DamageKind::Blank,
    };
    loop {
        let expected = used.first_sequence + used.records;
        match scan::step(window, used.end_bytes, header.salt(), expected)? {
            Step::Record(record) => {
                used.records += 1;
                used.end_bytes += record.record_bytes();
            }
            Step::End(kind) => {
                used.end = kind;
                return Ok(used);
            }
        }
    }
}

/// In a file with a former life only a header with the very next sequence counts as torn: anything else
/// may be left over.
fn torn_bytes<F: StorageFile>(
    file: &F,
    end_bytes: u64,
    recycled: bool,
    expected: u64,
) -> std::io::Result<u64> {
    let mut window = Window::new(file)?;
    if recycled {
        let head = RecordHeader::peek(window.get(end_bytes, crate::layout::RECORD_HEADER_BYTES)?);
        let begun = head.filter(|head| head.sequence == expected);
        let left = window.length_bytes().saturating_sub(end_bytes);
        return Ok(begun.map_or(0, |head| head.record_bytes().min(left)));
    }
    scan::bytes_not_blank(&mut window, end_bytes)
}
