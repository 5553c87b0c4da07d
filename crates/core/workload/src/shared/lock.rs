//! A number under a lock of fcntl(2), which each holder reads and raises: where two hosts hold the lock at once, or read what
//! was before, both are given the same one.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use pickfs_record::{Clock, OpIndex};
use rustix::fs::{FlockOperation, fcntl_lock};

use super::{
    record::{word, write_kept},
    site::{Site, keep},
};
use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
};

const FILE: &str = "lock";

/// Number, last holder, and when it released the lock, on the first host's clock, and how well it knows that one.
const BYTES: usize = 32;

pub(super) fn make(folder: &Path) -> Result<(), Fault> {
    write_kept(&folder.join(FILE), &[0; BYTES])
}

pub(super) struct Locking {
    site: Site,
    path: PathBuf,
    file: File,
    pub(super) numbers: Vec<u64>,
    /// From its release elsewhere to the grant here.
    handed_ns: Vec<(u64, u64)>,
    /// Of both clocks, at the worst of these.
    error_ns: u64,
    pub(super) note: Option<String>,
}

impl Locking {
    pub(super) fn new(site: Site) -> Result<Locking, Fault> {
        let path = site.folder.join(FILE);
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(Fault::io("open", &path))?;
        let (numbers, handed_ns) = (Vec::new(), Vec::new());
        Ok(Locking { site, path, file, numbers, handed_ns, error_ns: 0, note: None })
    }
}

impl Work for Locking {
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        let locked = fcntl_lock(&self.file, FlockOperation::LockExclusive);
        let granted_ns = clock.now_ns();
        locked.map_err(|error| Fault::io("lock", &self.path)(error.into()))?;
        bench.record(OpIndex(0), arrival.start_ns, granted_ns, 0);
        let mut bytes = [0; BYTES];
        self.file.read_exact_at(&mut bytes, 0).map_err(Fault::io("read", &self.path))?;
        let [number, holder, released_ns, error_ns] = [0, 8, 16, 24].map(|at| word(&bytes, at));
        let (own, among) = (u64::from(self.site.lane), self.site.among);
        if number > 0 && holder != own {
            self.handed_ns.push((among.own_ns(released_ns), granted_ns));
            self.error_ns = self.error_ns.max(among.error_ns.saturating_add(error_ns));
        }
        self.numbers.push(number);
        let now_ns = among.first_ns(clock.now_ns());
        let next =
            [number.wrapping_add(1), own, now_ns, among.error_ns].map(u64::to_le_bytes).concat();
        self.file.write_all_at(&next, 0).map_err(Fault::io("write", &self.path))?;
        let freed = fcntl_lock(&self.file, FlockOperation::Unlock);
        freed.map_err(|error| Fault::io("unlock", &self.path)(error.into()))?;
        Ok(clock.now_ns())
    }

    fn settle<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        let end_ns = clock.now_ns();
        self.note = keep(bench, OpIndex(1), &self.handed_ns, self.error_ns);
        Ok(end_ns)
    }
}
