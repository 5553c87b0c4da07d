//! Only counted, not timed.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use pickfs_record::Clock;

use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
    journal::published::Published,
};

const FILE_BYTES: usize = 4096;

pub(super) struct Neighbour {
    directory: PathBuf,
    pub(super) rate_per_s: f64,
    published: Arc<Published>,
    pub(super) files: u64,
}

impl Neighbour {
    pub(super) fn new(
        directory: &Path,
        rate_per_s: f64,
        published: Arc<Published>,
    ) -> Result<Self, Fault> {
        let directory = directory.to_owned();
        fs::create_dir_all(&directory).map_err(Fault::io("create", &directory))?;
        Ok(Neighbour { directory, rate_per_s, published, files: 0 })
    }
}

pub(super) fn one_file(directory: &Path, number: u64) -> Result<(), Fault> {
    let path = directory.join(format!("small-{number}"));
    let made = File::create(&path).and_then(|mut file| {
        file.write_all(&[0x6E; FILE_BYTES])?;
        file.sync_all()
    });
    made.map_err(Fault::io("create and sync", &path))?;
    fs::remove_file(&path).map_err(Fault::io("remove", &path))
}

impl Work for Neighbour {
    fn run<C: Clock>(&mut self, clock: &C, _arrival: &Due, _: &mut Bench) -> Result<u64, Fault> {
        one_file(&self.directory, self.files)?;
        self.files += 1;
        Ok(clock.now_ns())
    }

    fn is_stopped(&self) -> bool {
        self.published.is_stopped()
    }
}
