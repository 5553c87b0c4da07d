use std::os::fd::AsFd;

use super::{
    calls::{close, fault_of, write_all},
    lane::Lane,
    many_files::{Set, sync_after},
    names::NameBuffer,
    phases::{Kind, Phase},
    settings::Small,
    tree::Tree,
};
use crate::{fault::Fault, phase::Done};

pub(super) fn run(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<bool, Fault> {
    let settings = lane.settings;
    let tree = Tree::make(lane.runner.directory(), settings.spread);
    let mut stream = lane.stream.clone();
    let ran = lane.run(phase, set.with(tree), |(names, tree, content), watch| {
        let (mut name, mut first, mut bytes) = (NameBuffer::new(), NameBuffer::new(), 0);
        names.path(0, &mut first);
        for index in 0..names.count() {
            names.path(index, &mut name);
            let (name, first) = (name.as_c_str(), first.as_c_str());
            let size_bytes = match settings.small {
                Small::Bytes(sizes) => sizes.draw(&mut stream),
                _ => 0,
            };
            content.keep_size(size_bytes);
            let top = tree.top();
            watch.begin();
            let (kind, file) = match settings.small {
                Small::HardLinks if index > 0 => (Kind::Link, top.link(first, name).map(|()| None)),
                Small::SymbolicLinks if index > 0 => {
                    (Kind::SymbolicLink, top.symlink(first, name).map(|()| None))
                }
                _ => (Kind::Create, top.create(name).map(Some)),
            };
            let file = file?;
            watch.step(kind);
            // From here on the name is ours to remove.
            tree.created = index + 1;
            let top = tree.top();
            if let Some(file) = &file {
                for offset in (0..size_bytes as usize).step_by(settings.file_chunk_bytes) {
                    let length = settings.file_chunk_bytes.min(size_bytes as usize - offset);
                    write_all(file.as_fd(), content.piece(index, offset, length), &top.path)
                        .map_err(|fault| fault_of(fault, name))?;
                }
                if size_bytes > 0 {
                    watch.step(Kind::Write);
                }
                if settings.fsync_creates.file {
                    rustix::fs::fsync(file).map_err(top.fault("fsync", name))?;
                    watch.step(Kind::Fsync);
                }
            }
            if settings.fsync_creates.directory {
                tree.folder_of(names, index).fsync()?;
                watch.step(Kind::FsyncDirectory);
            }
            if let Some(file) = file {
                close(file, &top.path).map_err(|fault| fault_of(fault, name))?;
                watch.step(Kind::Close);
            }
            // The whole of it is the original's one operation.
            watch.done(0)?;
            bytes += u64::from(size_bytes);
        }
        sync_after(settings, tree.parent())?;
        Ok((Done { work: f64::from(names.count()), real_bytes: bytes }, ()))
    })?;
    lane.stream = stream;
    Ok(ran)
}
