//! Names are removed only where we created them; a file that somebody else put there stays, and so
//! does its directory.

use std::{
    ffi::{CStr, CString},
    path::{Path, PathBuf},
};

use rustix::{fs::AtFlags, io::Errno};

use super::{
    calls::{Folder, PRIVATE_DIRECTORY, fault},
    names::{NameBuffer, Names},
    spread::Spread,
};
use crate::fault::Fault;

/// The name of the one file and, later, of the directory of many files: the original uses one name
/// for both.
pub(super) const SCRATCH: &CStr = c"pickfs-files";

pub(super) struct Tree {
    lane: PathBuf,
    name: CString,
    has_directories: bool,
    directories: u32,
    /// Names of which the first so many were created by us.
    pub(super) created: u32,
    pub(super) foreign: u64,
    is_removed: bool,
    parent: Option<Folder>,
    open: Option<Open>,
}

struct Open {
    top: Folder,
    /// The directories below, until they are removed; none where files lie in the top directory.
    folders: Vec<Option<Folder>>,
}

impl Tree {
    /// Makes the top directory and those below it; none of them may be there.
    pub(super) fn make(lane: &Path, spread: Spread) -> Result<Tree, Fault> {
        let parent = Folder::open(lane)?;
        let mut tree = Tree {
            lane: lane.to_owned(),
            name: make_top(&parent)?,
            has_directories: spread.has_directories(),
            directories: 0,
            created: 0,
            foreign: 0,
            is_removed: false,
            parent: Some(parent),
            open: None,
        };
        tree.open()?;
        if tree.has_directories {
            for number in 0..spread.directories {
                tree.add_directory(number)?;
            }
        }
        Ok(tree)
    }

    fn add_directory(&mut self, number: u32) -> Result<(), Fault> {
        let name = NameBuffer::directory(number);
        self.top().make_directory(name.as_c_str())?;
        self.directories = number + 1;
        let folder = Folder::open(&self.top().path_of(name.as_c_str()))?;
        self.open.as_mut().expect(OPEN).folders.push(Some(folder));
        Ok(())
    }

    pub(super) fn open(&mut self) -> Result<(), Fault> {
        if self.open.is_some() {
            return Ok(());
        }
        let parent = Folder::open(&self.lane)?;
        let top = Folder::open(&parent.path_of(&self.name))?;
        let folder =
            |number| Folder::open(&top.path_of(NameBuffer::directory(number).as_c_str())).map(Some);
        let folders = (0..self.directories).map(folder).collect::<Result<_, _>>()?;
        self.parent = Some(parent);
        self.open = Some(Open { top, folders });
        Ok(())
    }

    /// Lets go of all of it, so that caches can be dropped.
    pub(super) fn close(&mut self) {
        self.open = None;
        self.parent = None;
    }

    fn parts(&self) -> &Open {
        self.open.as_ref().expect(OPEN)
    }

    #[inline]
    pub(super) fn top(&self) -> &Folder {
        &self.parts().top
    }

    /// The directory in which the top one stands: what a sync of the file system is asked through.
    pub(super) fn parent(&self) -> &Folder {
        self.parent.as_ref().expect(OPEN)
    }

    #[inline]
    pub(super) fn folder_of(&self, names: &Names, index: u32) -> &Folder {
        let number = names.spread().directory_of(index) as usize;
        let parts = self.parts();
        parts.folders.get(number).and_then(Option::as_ref).unwrap_or(&parts.top)
    }

    pub(super) fn holders(&self) -> u32 {
        if self.has_directories { self.directories } else { 1 }
    }

    pub(super) fn holder(&self, number: u32) -> &Folder {
        let parts = self.parts();
        parts.folders.get(number as usize).and_then(Option::as_ref).unwrap_or(&parts.top)
    }

    pub(super) fn remove_folder(&mut self, number: u32) -> Result<(), Fault> {
        self.open.as_mut().expect(OPEN).folders[number as usize] = None;
        let name = NameBuffer::directory(number);
        let top = self.top();
        let removed = top.remove_directory(name.as_c_str());
        let foreign = tolerated(removed, &top.path_of(name.as_c_str()))?;
        self.foreign = self.foreign.max(foreign);
        Ok(())
    }

    pub(super) fn remove_folders(&mut self) -> Result<(), Fault> {
        (0..self.directories).try_for_each(|number| self.remove_folder(number))
    }

    pub(super) fn has_directories(&self) -> bool {
        self.has_directories
    }

    pub(super) fn remove_top(&mut self) -> Result<(), Fault> {
        self.open = None;
        let parent = self.parent();
        let removed = parent.remove_directory(&self.name);
        let foreign = tolerated(removed, &parent.path_of(&self.name))?;
        self.foreign = self.foreign.max(foreign);
        self.is_removed = true;
        Ok(())
    }

    /// Removes all names that we may have created, in all the forms that a phase gave them, and the
    /// directories that are empty then. Nothing else.
    pub(super) fn clear(&mut self, names: &Names) {
        if self.open().is_err() {
            return;
        }
        let mut name = NameBuffer::new();
        for index in 0..self.created {
            for form in FORMS {
                names.form(index, *form, &mut name);
                let (fd, path) = (&self.top().fd, name.as_c_str());
                let _ = rustix::fs::unlinkat(fd, path, AtFlags::empty());
            }
        }
        self.created = 0;
        self.clear_directories();
    }

    fn clear_directories(&mut self) {
        self.is_removed = true;
        let _ = self.open();
        let (Some(open), Some(parent)) = (&self.open, &self.parent) else { return };
        // One more than were counted: the last one may have been made and not opened.
        for number in 0..=self.directories {
            let name = NameBuffer::directory(number);
            let _ = open.top.remove_directory(name.as_c_str());
        }
        let _ = parent.remove_directory(&self.name);
    }
}

impl Drop for Tree {
    /// Directories that are empty go; `clear` has removed our names before.
    fn drop(&mut self) {
        if !self.is_removed {
            self.clear_directories();
        }
    }
}

const OPEN: &str = "a tree is open while a phase runs";

/// In which forms a file's name may be there: as created, renamed, linked.
const FORMS: &[Option<u8>] = &[None, Some(RENAMED), Some(LINKED)];
pub(super) const RENAMED: u8 = b'r';
pub(super) const LINKED: u8 = b'l';

/// Where all our names are gone, a directory that is not empty holds what is not ours: it stays, which
/// is no fault. Gives whether that was so.
fn tolerated(removed: Result<(), Errno>, path: &Path) -> Result<u64, Fault> {
    match removed {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(1),
        removed => removed.map(|()| 0).map_err(fault("rmdir", path)),
    }
}

/// Makes the top directory under the first name that is free: an earlier one stays where somebody
/// has put something into it.
fn make_top(parent: &Folder) -> Result<CString, Fault> {
    for number in 0..TOPS_MAX {
        let name = match number {
            0 => SCRATCH.to_owned(),
            _ => CString::new(format!("pickfs-files-{number}")).expect("no NUL"),
        };
        match rustix::fs::mkdirat(&parent.fd, &name, PRIVATE_DIRECTORY) {
            Err(Errno::EXIST) => {}
            made => return made.map(|()| name.clone()).map_err(parent.fault("mkdir", &name)),
        }
    }
    Err(parent.fault("mkdir", SCRATCH)(Errno::EXIST))
}

/// Names that are tried for the top directory.
const TOPS_MAX: u32 = 9;
