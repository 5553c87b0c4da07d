//! A simulated disk for crash tests: it keeps a live image (what the program sees) and remembers every
//! change since the last sync, stops dead at a chosen operation, and comes back with any mixture of
//! old and new 512-byte sectors that a power cut could have left. Also injects errors and short writes.
//!
//! It is public so that a program built on the journal can test itself in the same way. It is not a
//! file system: it knows no blocks, no permissions, and one directory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::axes::Sync;
use crate::buffer::EncodeBuffer;
use crate::refusal::Way;
use crate::storage::{Open, Storage, StorageFile, SyncRange, Writer, WriterSpec};

/// What a disk writes in one piece: a sector is old or new, never half.
pub const SECTOR_BYTES: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It changes nothing.
    Error(i32),
    /// A write writes half of its bytes; a call of another kind is not touched.
    Short,
}

/// Clones are the same disk.
#[derive(Clone, Default)]
pub struct CrashStorage {
    disk: Arc<Mutex<Disk>>,
}

pub struct CrashFile {
    disk: CrashStorage,
    id: usize,
}

/// All write paths are one positioned write.
pub struct CrashWriter {
    sync: Sync,
}

type Change<T> = Box<dyn Fn(&mut T) + Send>;

/// What the program sees, and all that became of it since the last sync.
struct Image<T> {
    live: T,
    durable: T,
    pending: Vec<Change<T>>,
}

type File = Image<Vec<u8>>;
type Names = BTreeMap<String, usize>;

#[derive(Default)]
struct Disk {
    files: Vec<File>,
    names: Image<Names>,
    operations: u64,
    syncs: u64,
    freeze_after: Option<u64>,
    faults: BTreeMap<u64, Fault>,
    refused: BTreeSet<u8>,
}

impl<T: Clone> Image<T> {
    fn settled(live: T) -> Self {
        Self { durable: live.clone(), live, pending: Vec::new() }
    }

    fn change(&mut self, change: impl Fn(&mut T) + Send + 'static) {
        change(&mut self.live);
        self.pending.push(Box::new(change));
    }

    fn sync(&mut self) {
        self.durable.clone_from(&self.live);
        self.pending.clear();
    }

    /// What stood there after the last sync and after each change since.
    fn moments(&self) -> Vec<T> {
        let mut moments = vec![self.durable.clone()];
        for change in &self.pending {
            let mut next = moments[moments.len() - 1].clone();
            change(&mut next);
            moments.push(next);
        }
        moments
    }
}

impl<T: Clone + Default> Default for Image<T> {
    fn default() -> Self {
        Self::settled(T::default())
    }
}

impl File {
    /// The content after a power cut: each sector, and the length, as of some moment since the last sync.
    fn after_power_cut(&self, dice: &mut fastrand::Rng) -> Vec<u8> {
        let moments = self.moments();
        let length = moments[dice.usize(..moments.len())].len();
        let mut bytes = vec![0; length];
        for start in (0..length).step_by(SECTOR_BYTES) {
            let end = (start + SECTOR_BYTES).min(length);
            let moment = &moments[dice.usize(..moments.len())];
            let old = moment.get(start..end.min(moment.len())).unwrap_or_default();
            bytes[start..start + old.len()].copy_from_slice(old);
        }
        bytes
    }
}

impl Disk {
    /// Counts an operation that changes something, and says whether and how it happens.
    fn operate(&mut self) -> io::Result<Option<Fault>> {
        if self.freeze_after == Some(0) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        self.freeze_after = self.freeze_after.map(|left| left - 1);
        self.operations += 1;
        match self.faults.remove(&self.operations) {
            Some(Fault::Error(errno)) => Err(io::Error::from_raw_os_error(errno)),
            other => Ok(other),
        }
    }

    fn enter(&mut self, change: impl Fn(&mut Names) + Send + 'static) -> io::Result<()> {
        self.operate()?;
        self.names.change(change);
        Ok(())
    }

    fn refuse(&self, way: Way) -> io::Result<()> {
        match self.refused.contains(&(way as u8)) {
            true => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            false => Ok(()),
        }
    }
}

impl CrashStorage {
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `operations` more changes happen (writes, syncs, creations, ...), then fails every call.
    pub fn freeze_after(&self, operations: u64) {
        self.disk().freeze_after = Some(operations);
    }

    /// Makes the operation that is `ahead` from now (1 for the next) go wrong.
    pub fn fail(&self, ahead: u64, fault: Fault) {
        let mut disk = self.disk();
        let at = disk.operations + ahead;
        disk.faults.insert(at, fault);
    }

    /// From now on, as a file system would that does not have it.
    pub fn refuse(&self, way: Way) {
        self.disk().refused.insert(way as u8);
    }

    pub fn operations(&self) -> u64 {
        self.disk().operations
    }

    pub fn syncs(&self) -> u64 {
        self.disk().syncs
    }

    /// The disk as the next boot finds it. `seed` chooses what of the unsynced changes is there.
    pub fn power_cut(&self, seed: u64) -> Self {
        let disk = self.disk();
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut names = disk.names.moments();
        let names = names.swap_remove(dice.usize(..names.len()));
        Self::holding(names, disk.files.iter().map(|file| file.after_power_cut(&mut dice)))
    }

    /// The disk as the next process finds it, when only the process has died.
    pub fn process_kill(&self) -> Self {
        let disk = self.disk();
        Self::holding(disk.names.live.clone(), disk.files.iter().map(|file| file.live.clone()))
    }

    fn holding(names: Names, contents: impl Iterator<Item = Vec<u8>>) -> Self {
        let files = contents.map(Image::settled).collect();
        let disk = Disk { files, names: Image::settled(names), ..Disk::default() };
        Self { disk: Arc::new(Mutex::new(disk)) }
    }

    /// Changes one byte of a file behind the journal's back: the damage of a failing disk.
    pub fn flip(&self, name: &str, offset_bytes: usize) {
        let mut disk = self.disk();
        let Some(&id) = disk.names.live.get(name) else { return };
        let File { live, durable, .. } = &mut disk.files[id];
        for byte in [live, durable].into_iter().filter_map(|bytes| bytes.get_mut(offset_bytes)) {
            *byte ^= 0x40;
        }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for CrashStorage {
    type File = CrashFile;
    type Writer = CrashWriter;

    fn open(&self, name: &str, how: Open) -> io::Result<CrashFile> {
        let mut disk = self.disk();
        let found = disk.names.live.get(name).copied();
        let id = match (how, found) {
            (Open::New(_), Some(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Open::New(_), None) => {
                let id = disk.files.len();
                let name = name.to_owned();
                disk.enter(move |names| {
                    names.insert(name.clone(), id);
                })?;
                disk.files.push(File::default());
                id
            }
            (_, Some(id)) => id,
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(CrashFile { disk: self.clone(), id })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.disk().enter(move |names| {
            if let Some(id) = names.remove(&from) {
                names.insert(to.clone(), id);
            }
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let name = name.to_owned();
        self.disk().enter(move |names| {
            names.remove(&name);
        })
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.disk().names.live.keys().cloned().collect())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        disk.names.sync();
        Ok(())
    }

    fn writer(&self, spec: WriterSpec, _buffer: &EncodeBuffer) -> io::Result<CrashWriter> {
        let disk = self.disk();
        match spec.write_path {
            crate::WritePath::IoUring => disk.refuse(Way::IoUring)?,
            crate::WritePath::Direct => disk.refuse(Way::Direct)?,
            _ => {}
        }
        Ok(CrashWriter { sync: spec.sync })
    }

    fn lock(&self) -> io::Result<()> {
        Ok(())
    }

    fn describe(&self) -> String {
        "simulated disk".to_owned()
    }
}

impl StorageFile for CrashFile {
    fn read_at(&self, offset_bytes: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let disk = self.disk.disk();
        let live = &disk.files[self.id].live;
        let start = (offset_bytes as usize).min(live.len());
        let end = (start + bytes.len()).min(live.len());
        bytes[..end - start].copy_from_slice(&live[start..end]);
        Ok(end - start)
    }

    fn write_at(&mut self, offset_bytes: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut disk = self.disk.disk();
        let count = match disk.operate()? {
            Some(Fault::Short) => bytes.len() / 2,
            _ => bytes.len(),
        };
        let (start, new) = (offset_bytes as usize, bytes[..count].to_vec());
        disk.files[self.id].change(move |bytes| {
            let end = start + new.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[start..end].copy_from_slice(&new);
        });
        Ok(count)
    }

    fn length_bytes(&self) -> io::Result<u64> {
        Ok(self.disk.disk().files[self.id].live.len() as u64)
    }

    fn set_length(&mut self, length_bytes: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.refuse(Way::Ftruncate)?;
        disk.operate()?;
        disk.files[self.id].change(move |bytes| bytes.resize(length_bytes as usize, 0));
        Ok(())
    }

    fn allocate(&mut self, length_bytes: u64, keep_length: bool) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.refuse(Way::Fallocate)?;
        disk.operate()?;
        if !keep_length {
            disk.files[self.id].change(move |bytes| bytes.resize(length_bytes as usize, 0));
        }
        Ok(())
    }

    fn map(&mut self, _length_bytes: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&mut self) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.operate()?;
        disk.syncs += 1;
        disk.files[self.id].sync();
        Ok(())
    }
}

impl Writer for CrashWriter {
    type File = CrashFile;

    fn attach(&mut self, _file: &mut CrashFile) -> io::Result<()> {
        Ok(())
    }

    fn write(
        &mut self,
        file: &mut CrashFile,
        offset_bytes: u64,
        buffer: &EncodeBuffer,
    ) -> io::Result<usize> {
        let written = file.write_at(offset_bytes, buffer.bytes())?;
        if self.sync.is_write_through() {
            file.sync_all()?;
        }
        Ok(written)
    }

    fn sync(&mut self, file: &mut CrashFile, _range: SyncRange) -> io::Result<()> {
        match self.sync.outlives_power_loss() {
            true => file.sync_all(),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cut_keeps_synced_sectors_and_mixes_the_others() {
        let disk = CrashStorage::new();
        let spec = WriterSpec::from(&crate::Options::default());
        let mut file = disk.open("a", Open::New(spec)).expect("made");
        file.write_at(0, &[1; 2048]).expect("written");
        file.sync_all().expect("synced");
        disk.sync_directory().expect("synced");
        file.write_at(0, &[2; 2048]).expect("written");
        let mut mixtures = BTreeSet::new();
        for seed in 0..100 {
            let after = disk.power_cut(seed).open("a", Open::Read).expect("there");
            let mut bytes = [0; 2048];
            assert_eq!(after.read_at(0, &mut bytes).expect("read"), 2048);
            let sectors: Vec<u8> = bytes.chunks(SECTOR_BYTES).map(|sector| sector[0]).collect();
            assert!(
                bytes
                    .chunks(SECTOR_BYTES)
                    .all(|sector| sector.iter().all(|byte| *byte == sector[0]))
            );
            mixtures.insert(sectors);
        }
        assert_eq!(mixtures.len(), 16);
    }
}
