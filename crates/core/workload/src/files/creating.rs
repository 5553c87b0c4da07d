use std::{ffi::CStr, os::fd::AsFd};

use super::{
    calls::{Folder, close, fault_of, write_all},
    interrupt,
    lane::Lane,
    laps::Places,
    many_files::{Set, sync_after, timed},
    names::{NameBuffer, Names},
    phases::{Kind, Phase},
    settings::{Settings, Small},
    small_content::SmallContent,
    tree::Tree,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench},
};

pub(super) fn run(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<bool, Fault> {
    let settings = lane.settings;
    let directory = lane.runner.directory().to_owned();
    let mut stream = lane.stream.clone();
    let ran = lane.run(phase, |bench, original| {
        set.tree = Some(Tree::make(&directory, settings.spread)?);
        timed(bench, original, |bench, original| {
            let places = Places::of(&phase.kinds(settings));
            let (mut name, mut first, mut bytes) = (NameBuffer::new(), NameBuffer::new(), 0);
            set.names.path(0, &mut first);
            for index in 0..set.names.count() {
                set.names.path(index, &mut name);
                let size_bytes = match settings.small {
                    Small::Bytes(sizes) => sizes.draw(&mut stream),
                    _ => 0,
                };
                set.content.keep_size(size_bytes);
                let Set { names, tree: Some(tree), content } = &mut *set else { break };
                let maker = Maker { settings, places, tree, names, content, index, size_bytes };
                let both = (name.as_c_str(), first.as_c_str());
                let length_ns = match settings.small {
                    Small::Bytes(_) => maker.file(both.0, bench)?,
                    _ if index == 0 => maker.file(both.0, bench)?,
                    Small::HardLinks => maker.link(both, Kind::Link, bench)?,
                    Small::SymbolicLinks => maker.link(both, Kind::SymbolicLink, bench)?,
                };
                original.note(length_ns);
                bytes += u64::from(size_bytes);
                interrupt::check()?;
            }
            sync_after(settings, set.tree()?.parent())?;
            let work = f64::from(set.names.count());
            Ok(Done { work, real_bytes: bytes })
        })
    })?;
    lane.stream = stream;
    Ok(ran)
}

struct Maker<'a> {
    settings: &'a Settings,
    places: Places,
    tree: &'a mut Tree,
    names: &'a Names,
    content: &'a SmallContent,
    index: u32,
    size_bytes: u32,
}

impl Maker<'_> {
    fn folder(&self) -> &Folder {
        self.tree.folder_of(self.names, self.index)
    }

    /// The whole of it is the original's one operation; gives its length.
    fn file(self, name: &CStr, bench: &mut PhaseBench) -> Result<u64, Fault> {
        let start_ns = bench.now_ns();
        let file = self.tree.top().create(name)?;
        let mut end_ns = self.places.until_now(bench, Kind::Create, start_ns, 0);
        // From here on the name is ours to remove.
        self.tree.created = self.index + 1;
        if self.size_bytes > 0 {
            self.write(file.as_fd(), name)?;
            end_ns = self.places.until_now(bench, Kind::Write, end_ns, 0);
        }
        if self.settings.fsync_creates.file {
            rustix::fs::fsync(&file).map_err(self.tree.top().fault("fsync", name))?;
            end_ns = self.places.until_now(bench, Kind::Fsync, end_ns, 0);
        }
        if self.settings.fsync_creates.directory {
            self.folder().fsync()?;
            end_ns = self.places.until_now(bench, Kind::FsyncDirectory, end_ns, 0);
        }
        close(file, &self.tree.top().path).map_err(|fault| fault_of(fault, name))?;
        end_ns = self.places.until_now(bench, Kind::Close, end_ns, 0);
        Ok(end_ns - start_ns)
    }

    fn write(&self, file: std::os::fd::BorrowedFd<'_>, name: &CStr) -> Result<(), Fault> {
        let (size, chunk) = (self.size_bytes as usize, self.settings.file_chunk_bytes);
        let mut offset = 0;
        while offset < size {
            let length = chunk.min(size - offset);
            let piece = self.content.piece(self.index, offset, length);
            write_all(file, piece, &self.tree.top().path).map_err(|fault| fault_of(fault, name))?;
            offset += length;
        }
        Ok(())
    }

    fn link(
        self,
        (name, first): (&CStr, &CStr),
        kind: Kind,
        bench: &mut PhaseBench,
    ) -> Result<u64, Fault> {
        let start_ns = bench.now_ns();
        match kind {
            Kind::Link => self.tree.top().link(first, name)?,
            _ => self.tree.top().symlink(first, name)?,
        }
        let mut end_ns = self.places.until_now(bench, kind, start_ns, 0);
        self.tree.created = self.index + 1;
        if self.settings.fsync_creates.directory {
            self.folder().fsync()?;
            end_ns = self.places.until_now(bench, Kind::FsyncDirectory, end_ns, 0);
        }
        Ok(end_ns - start_ns)
    }
}
