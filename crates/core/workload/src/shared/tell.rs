//! What the first host does, an event at each arrival, for others to see.

use std::{
    fs::{self, File},
    path::PathBuf,
};

use pickfs_record::{Clock, OpIndex};
use pickfs_sys::mapped_file::MappedFile;

use super::{
    record::{Pen, Reader, Record, write_words},
    site::Site,
};
use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
};

pub(super) const CURRENT: &str = "current";
/// In a page that others do not make dirty.
pub(super) const STORED: usize = 4096;
pub(super) const MAPPED_BYTES: usize = 8192;

/// What the first host changes, and the others look at.
pub(super) enum Sign {
    /// A file that grows.
    Tail(Pen, Reader),
    /// Names that come, or go.
    Names { come: bool },
    /// One name, that a new version takes from the one before.
    Current,
    /// A number in a page, with the numbers that increments of the other page gave.
    Page(MappedFile, Vec<u64>),
}

pub(super) struct Telling {
    site: Site,
    pub(super) sign: Sign,
    /// Ready to be the next version, or the next name.
    path: PathBuf,
    /// When each began.
    began_ns: Vec<u64>,
}

impl Telling {
    pub(super) fn new(site: Site, sign: Sign) -> Telling {
        Telling { site, sign, path: PathBuf::new(), began_ns: Vec::new() }
    }

    fn happen(&mut self) -> Result<(), Fault> {
        match &mut self.sign {
            Sign::Tail(pen, _) => pen.put().map_err(Fault::io("append to", &pen.path)),
            Sign::Names { come: true } => {
                File::create_new(&self.path).map(drop).map_err(Fault::io("create", &self.path))
            }
            Sign::Names { come: false } => {
                fs::remove_file(&self.path).map_err(Fault::io("remove", &self.path))
            }
            Sign::Current => fs::rename(&self.path, self.site.folder.join(CURRENT))
                .map_err(Fault::io("rename", &self.path)),
            Sign::Page(map, _) => {
                let version = self.began_ns.len() as u64;
                map.write_at(STORED, &(version + 1).to_le_bytes()).map_err(unmapped)
            }
        }
    }
}

pub(super) fn unmapped(error: pickfs_sys::mapped_file::MapError) -> Fault {
    Fault::Failed { reason: error.to_string() }
}

impl Work for Telling {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        let number = self.began_ns.len() as u64;
        let record = Record { lane: self.site.lane, number, ..Record::default() };
        match &mut self.sign {
            _ if number >= self.site.events => {}
            Sign::Tail(pen, _) => pen.fill(&record),
            Sign::Names { .. } => self.path = self.site.name(number),
            Sign::Current => {
                self.path = self.site.folder.join("next");
                write_words(&self.path, &[number + 1])?;
            }
            Sign::Page(map, numbers) => numbers.push(map.add_at(0, 1).map_err(unmapped)?),
        }
        Ok(())
    }

    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.happen()?;
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
        self.began_ns.push(arrival.start_ns);
        Ok(end_ns)
    }

    fn is_stopped(&self) -> bool {
        self.began_ns.len() as u64 >= self.site.events
    }

    fn settle<C: Clock>(&mut self, clock: &C, _bench: &mut Bench) -> Result<u64, Fault> {
        let end_ns = clock.now_ns();
        self.site.tell(&self.began_ns)?;
        Ok(end_ns)
    }
}
