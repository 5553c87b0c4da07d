//! A FUSE mount says `fuseblk` and not whose it is, so that no table knows.

use std::{ffi::CStr, path::Path};

use rustix::{
    fs::{CWD, OFlags},
    io::Errno,
};

use super::{
    calls::{self, Folder, PRIVATE_DIRECTORY},
    settings::{Direct, Settings, Small},
};
use crate::fault::Fault;

const FILE: &CStr = c"file";
const NAME: &CStr = c"name";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) direct: bool,
    pub(super) hard_links: bool,
    pub(super) symbolic_links: bool,
}

pub(super) fn probe(settings: &Settings, directory: &Path) -> Result<Refused, Fault> {
    let path = directory.join(format!("pickfs-probe-{}", std::process::id()));
    rustix::fs::mkdirat(CWD, &path, PRIVATE_DIRECTORY).map_err(calls::fault("mkdir", &path))?;
    let refused = Folder::open(&path).and_then(|folder| probe_in(settings, &folder));
    rustix::fs::rmdir(&path).map_err(calls::fault("rmdir", &path))?;
    refused
}

fn probe_in(settings: &Settings, folder: &Folder) -> Result<Refused, Fault> {
    drop(folder.create(FILE)?);
    let refused = Refused {
        direct: settings.direct != Direct::Off && direct_refused(folder)?,
        hard_links: made(folder.link(FILE, NAME), folder)?,
        symbolic_links: settings.small == Small::SymbolicLinks
            && made(folder.symlink(FILE, NAME), folder)?,
    };
    folder.unlink(FILE)?;
    Ok(refused)
}

fn direct_refused(folder: &Folder) -> Result<bool, Fault> {
    let path = folder.path_of(FILE);
    match calls::open(&path, OFlags::RDWR | OFlags::DIRECT) {
        Err(fault) if is_refusal(&fault) => Ok(true),
        opened => opened.map(|_| false),
    }
}

/// Whether a name was refused; one that was made is removed.
fn made(made: Result<(), Fault>, folder: &Folder) -> Result<bool, Fault> {
    match made {
        Err(fault) if is_refusal(&fault) => Ok(true),
        made => made.and_then(|()| folder.unlink(NAME)).map(|()| false),
    }
}

fn is_refusal(fault: &Fault) -> bool {
    const REFUSALS: &[Errno] =
        &[Errno::INVAL, Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS, Errno::MLINK];
    let errno = match fault {
        Fault::Io { source, .. } => source.raw_os_error(),
        _ => None,
    };
    REFUSALS.iter().any(|refusal| Some(refusal.raw_os_error()) == errno)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_there_is_not_refused_and_nothing_stays() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let asked = json!({ "content": "symbolic-links" });
        let params = super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap();
        let refused = probe(&Settings::new(&params, 1, 0), folder.path()).unwrap();
        assert!(!refused.hard_links && !refused.symbolic_links);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failure_is_not_a_refusal() {
        let fault = |errno: Errno| calls::fault("link", Path::new("/x"))(errno);
        assert!(is_refusal(&fault(Errno::PERM)));
        assert!(!is_refusal(&fault(Errno::NOSPC)) && !is_refusal(&fault(Errno::IO)));
    }
}
