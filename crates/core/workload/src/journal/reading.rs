//! Reads go to random offsets of what was written, or (each second one, where the writer stamps) to
//! the block that is written again and again. Every read is checked after its operation.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use pickfs_record::{Clock, OpIndex};
use pickfs_sys::{mapped_file::MappedFile, residency};
use rustix::fs::Advice;

use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
    journal::{
        content::scrambled,
        published::{Place, Published},
        stamp::{END_BYTE, file_path, is_mixed, is_stale},
    },
    param::Resolved,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct How {
    pub(super) rate_per_s: f64,
    bytes: usize,
    is_mapped: bool,
    is_cold: bool,
    any_file: bool,
    stamped: bool,
    /// Bytes at the end of a full file that may never have been written.
    margin_bytes: u64,
}

impl How {
    pub(super) fn of(params: &Resolved, write_bytes_max: u64) -> How {
        How {
            rate_per_s: params.number("reader_rate"),
            bytes: params.integer("reader_size").max(1) as usize,
            is_mapped: params.text("reader_by") == "mmap",
            is_cold: params.text("reader_cache") == "cold",
            any_file: params.text("reader_files") == "several",
            stamped: params.integer("rewrite_every") > 0,
            margin_bytes: write_bytes_max + END_BYTE as u64,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) reads: u64,
    pub(super) reads_of_rewritten: u64,
    pub(super) mixed: u64,
    pub(super) not_cold: u64,
}

struct OpenFile {
    index: u64,
    path: PathBuf,
    file: File,
    map: Option<MappedFile>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Chosen {
    offset_bytes: u64,
    length_bytes: usize,
    is_rewritten_block: bool,
}

pub(super) struct Reading {
    directory: PathBuf,
    pub(super) how: How,
    published: Arc<Published>,
    pub(super) seed: u64,
    draws: u64,
    open: Option<OpenFile>,
    chosen: Option<Chosen>,
    bytes: Vec<u8>,
    pub(super) found: Found,
}

impl Reading {
    pub(super) fn new(directory: &Path, how: How, published: Arc<Published>, seed: u64) -> Self {
        Reading {
            directory: directory.into(),
            how,
            published,
            seed,
            draws: 0,
            open: None,
            chosen: None,
            bytes: vec![0; how.bytes.max(END_BYTE)],
            found: Found::default(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draws += 1;
        scrambled(self.seed, self.draws) % below.max(1)
    }

    fn pick_place(&mut self) -> Place {
        let current = self.published.place();
        let oldest = self.published.oldest_index();
        if !self.how.any_file || oldest >= current.file_index {
            return current;
        }
        let file_index = oldest + self.draw(current.file_index - oldest + 1);
        if file_index == current.file_index {
            return current;
        }
        // The last record of a full file may have left no room for the next.
        let length = std::fs::metadata(file_path(&self.directory, file_index)).map(|m| m.len());
        match length {
            Ok(length) => {
                let position_bytes = length.saturating_sub(self.how.margin_bytes);
                Place { file_index, position_bytes }
            }
            Err(_) => current,
        }
    }

    fn choose(&mut self) -> Result<(), Fault> {
        let place = self.pick_place();
        self.open_file(place)?;
        let is_rewritten_block = self.how.stamped && self.found.reads % 2 == 0;
        let room = place.position_bytes.saturating_sub(END_BYTE as u64);
        let chosen = if is_rewritten_block || room == 0 {
            let length_bytes = (place.position_bytes as usize).min(END_BYTE);
            Chosen { offset_bytes: 0, length_bytes, is_rewritten_block }
        } else {
            let length_bytes = self.how.bytes.min(room as usize);
            let offset_bytes = END_BYTE as u64 + self.draw(room - length_bytes as u64 + 1);
            Chosen { offset_bytes, length_bytes, is_rewritten_block }
        };
        if self.how.is_cold && chosen.length_bytes > 0 {
            self.cool(chosen)?;
        }
        self.chosen = Some(chosen);
        Ok(())
    }

    fn open_file(&mut self, place: Place) -> Result<(), Fault> {
        let mapped = |open: &OpenFile| {
            let length = open.map.as_ref().map_or(0, |map| map.length_bytes() as u64);
            !self.how.is_mapped || length >= place.position_bytes
        };
        if self.open.as_ref().is_some_and(|open| open.index == place.file_index && mapped(open)) {
            return Ok(());
        }
        let path = file_path(&self.directory, place.file_index);
        let opened = File::options().read(true).write(self.how.is_mapped).open(&path);
        let Ok(file) = opened else {
            // It was retired in this moment; the next arrival finds another.
            self.open = None;
            return Ok(());
        };
        let length = file.metadata().map_err(Fault::io("look at", &path))?.len();
        let map = if self.how.is_mapped && length > 0 {
            let map = MappedFile::map(&file, &path, length as usize);
            Some(map.map_err(|error| Fault::Skipped { reason: error.to_string() })?)
        } else {
            None
        };
        if self.how.is_cold {
            let _ = residency::will_read_at_random(&file);
        }
        self.open = Some(OpenFile { index: place.file_index, path, file, map });
        Ok(())
    }

    /// Drops the range from the page cache and looks whether it went.
    fn cool(&mut self, chosen: Chosen) -> Result<(), Fault> {
        let Some(open) = &self.open else { return Ok(()) };
        let start = chosen.offset_bytes & !4095;
        let length =
            (chosen.offset_bytes + chosen.length_bytes as u64).next_multiple_of(4096) - start;
        let _ = rustix::fs::fadvise(
            &open.file,
            start,
            std::num::NonZeroU64::new(length),
            Advice::DontNeed,
        );
        let seen =
            residency::resident_pages_in(&open.file, chosen.offset_bytes, chosen.length_bytes);
        let seen = seen.map_err(|error| Fault::Failed { reason: error.to_string() })?;
        self.found.not_cold += u64::from(seen.resident_count > 0);
        Ok(())
    }

    fn check(&mut self, chosen: Chosen, read_bytes: usize) {
        let bytes = &self.bytes[..read_bytes];
        let is_mixed = match chosen.offset_bytes {
            0 => is_mixed(bytes),
            _ => read_bytes < chosen.length_bytes || is_stale(bytes),
        };
        self.found.reads += 1;
        self.found.reads_of_rewritten += u64::from(chosen.is_rewritten_block);
        self.found.mixed += u64::from(is_mixed);
    }
}

impl OpenFile {
    fn read(&self, chosen: Chosen, bytes: &mut [u8]) -> Result<usize, Fault> {
        let bytes = &mut bytes[..chosen.length_bytes];
        match &self.map {
            Some(map) => {
                let read = map.read_at(chosen.offset_bytes as usize, bytes);
                read.map_err(|error| Fault::Failed { reason: error.to_string() })?;
                Ok(bytes.len())
            }
            None => {
                let read = self.file.read_at(bytes, chosen.offset_bytes);
                read.map_err(Fault::io("read", &self.path))
            }
        }
    }
}

impl Work for Reading {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        if self.chosen.is_none() { self.choose() } else { Ok(()) }
    }

    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        let (Some(chosen), Some(open)) = (self.chosen.take(), &self.open) else {
            return Ok(arrival.start_ns);
        };
        if chosen.length_bytes == 0 {
            return Ok(arrival.start_ns);
        }
        let read_bytes = open.read(chosen, &mut self.bytes)?;
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, chosen.offset_bytes);
        self.check(chosen, read_bytes);
        Ok(end_ns)
    }

    fn is_stopped(&self) -> bool {
        self.published.is_stopped()
    }
}
