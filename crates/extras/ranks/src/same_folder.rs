//! Whether a folder is one for all: the lab writes a word into it that nobody can guess, and so does the first rank of each
//! host. Every rank must read there what the lab wrote and what the host before its own did: so all hosts are one ring, and
//! what a host has to do does not grow with their number. A host whose mount is missing would measure its own disk without
//! any error.

use std::{
    fs,
    hash::{BuildHasher, RandomState},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use pickfs_sys::mount::mount_of;

use crate::{
    error::RanksError,
    group::Group,
    message::{FolderSeen, SharedFolder},
};

/// What one host wrote another one sees after it has let go of what it knew; see nfs(5) for its times.
const SEEN_AFTER: Duration = Duration::from_secs(60);
const NAP: Duration = Duration::from_millis(5);
const TOKEN_BYTES_MAX: usize = 64;

/// Two of the standard library's keys, which are drawn at random.
pub(crate) fn drawn_token() -> String {
    let half = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", half(), half())
}

fn place(folder: &Path, whose: &str) -> PathBuf {
    folder.join(format!("seen-{whose}"))
}

/// Before any rank looks: a name that was looked for in vain may stay unseen for long.
pub(crate) fn write(folder: &Path, whose: &str, token: &str) -> Result<(), String> {
    let path = place(folder, whose);
    let written = fs::File::create_new(&path).and_then(|mut file| {
        file.write_all(token.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| format!("write {}: {error}", path.display()))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(TOKEN_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn see(folder: &Path, whose: &str, token: &str, limit: Duration) -> Result<(), String> {
    let (path, began) = (place(folder, whose), Instant::now());
    loop {
        let found = read(&path);
        if found.as_ref().is_ok_and(|found| found == token.as_bytes()) {
            return Ok(());
        }
        if began.elapsed() > limit {
            let path = path.display();
            return Err(match found {
                Ok(_) => format!("{path} holds another word than {whose} wrote"),
                Err(error) => format!("{path}, which {whose} wrote, cannot be read: {error}"),
            });
        }
        thread::sleep(NAP);
    }
}

/// What this rank sees. All call it together; the lab has written its word.
pub(crate) fn look(group: &Group<'_>, shared: &SharedFolder) -> Result<FolderSeen, RanksError> {
    let limit = SEEN_AFTER.min(group.patience / 2);
    let folder = &shared.path;
    let (own, token, by_host) = (group.mpi.rank(), drawn_token(), group.by_host());
    // Without the folder there is nothing to wait for.
    let is_there =
        fs::metadata(folder).map_err(|error| format!("{} is not there: {error}", folder.display()));
    let mut seen = is_there.and_then(|_| see(folder, "lab", &shared.token, limit));
    let place = by_host.iter().position(|ranks| ranks.contains(&own)).unwrap_or(0);
    let at = |steps: usize| &by_host[(place + steps) % by_host.len()];
    if at(0)[0] == own {
        if seen.is_ok() {
            seen = write(folder, &own.to_string(), &token);
        }
        // Without a word there is nothing to read.
        let written = if seen.is_ok() { token.as_bytes() } else { &[] };
        let mut behind = at(1).iter().filter(|rank| **rank != own);
        behind.try_for_each(|rank| group.send_all(*rank, written.into()))?;
    }
    let before = at(by_host.len() - 1)[0];
    if before != own {
        let theirs = group.receive_all(before)?;
        let theirs = String::from_utf8_lossy(&theirs);
        if !theirs.is_empty() {
            seen = seen.and_then(|()| see(folder, &before.to_string(), &theirs, limit));
        }
    }
    let mount = seen.and_then(|()| mount_of(folder).map_err(|error| error.to_string()));
    Ok(match mount {
        Ok(mount) => FolderSeen {
            fs_type: mount.fs_type,
            source: mount.source.to_string_lossy().into_owned(),
            problem: String::new(),
        },
        Err(problem) => FolderSeen { problem, ..FolderSeen::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::{Mpi, fake::all};

    /// What is there is seen at once: each word is written before anybody is told of it. Each rank is a host of its own, with the folder that stands at its place.
    fn looked(folders: &[&Path], token: &str) -> Vec<String> {
        let hosts: Vec<String> = (0..folders.len()).map(|host| format!("h{host}")).collect();
        all(folders.len(), |mpi| {
            let group = Group { hosts: hosts.clone(), ..Group::new(&mpi, Duration::ZERO) };
            let path = folders[mpi.rank()].to_owned();
            let shared = SharedFolder { path, token: token.into() };
            look(&group, &shared).unwrap().problem
        })
    }

    #[test]
    fn one_folder_is_seen_as_one_and_another_one_is_not() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = [folders[0].path(), folders[1].path()];
        let token = drawn_token();
        write(one, "lab", &token).unwrap();
        assert_eq!(looked(&[one, one, one], &token), ["", "", ""]);
        fs::remove_file(place(one, "0")).and(fs::remove_file(place(one, "1"))).unwrap();
        fs::remove_file(place(one, "2")).unwrap();
        let apart = looked(&[one, other, one], &token);
        assert!(apart[1].contains("which lab wrote, cannot be read"), "{apart:?}");
        assert_eq!((&*apart[0], &*apart[2]), ("", ""));
    }

    /// A copy of the lab's word is not enough: what the other host writes must be seen, too.
    #[test]
    fn a_folder_that_was_copied_is_not_the_same() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = [folders[0].path(), folders[1].path()];
        let token = drawn_token();
        write(one, "lab", &token).and(write(other, "lab", &token)).unwrap();
        let apart = looked(&[one, other], &token);
        assert!(apart.iter().all(|problem| problem.contains("cannot be read")), "{apart:?}");
        assert_ne!(drawn_token(), drawn_token());
    }

    #[test]
    fn a_folder_that_is_not_there_and_another_word_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().join("nowhere");
        assert!(looked(&[&nowhere], "x")[0].contains("is not there"));
        write(folder.path(), "lab", "theirs").unwrap();
        assert!(looked(&[folder.path()], "ours")[0].contains("holds another word"));
    }
}
