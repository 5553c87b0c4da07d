//! What somebody else put there stays, and is told (validity rule 18).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{files::Files, set::beside};

#[derive(Debug)]
pub(super) struct OwnFiles {
    folder: PathBuf,
    /// The first lane's decision, beside the directories of the lanes.
    decision: Option<PathBuf>,
}

impl OwnFiles {
    pub(super) fn new(folder: &Path, decision: Option<PathBuf>) -> OwnFiles {
        OwnFiles { folder: folder.to_owned(), decision }
    }

    pub(super) fn remove(&self) -> Vec<String> {
        let files = Files::new(&self.folder);
        let own = files.all();
        let drafts = own.iter().map(|path| beside(path));
        let mut stays: Vec<String> = own
            .iter()
            .cloned()
            .chain(drafts)
            .chain(self.decision.clone())
            .filter_map(|path| told(&path, fs::remove_file(&path)))
            .collect();
        for folder in [files.table_folder(), files.at("kdbdb"), self.folder.clone()] {
            stays.extend(told(&folder, fs::remove_dir(&folder)));
        }
        stays
    }
}

impl Drop for OwnFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

fn told(path: &Path, removed: io::Result<()>) -> Option<String> {
    let error = removed.err().filter(|error| error.kind() != io::ErrorKind::NotFound)?;
    let why = match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => others_in(path),
        _ => error.to_string(),
    };
    Some(format!("{} stays: {why}", path.display()))
}

/// `it holds x and 2 more that this trial did not make`
fn others_in(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    match names.as_slice() {
        [] => "it was not empty".into(),
        [one] => format!("it holds {one}, which this trial did not make"),
        [first, more @ ..] => {
            format!("it holds {first} and {} more that this trial did not make", more.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(folder: &Path) -> PathBuf {
        let lane = folder.join("lane-1");
        fs::create_dir_all(lane.join("kdbdb/tbl")).unwrap();
        for name in ["seqreadTiny", "kdbdb/sym", "kdbdb/tbl/.d", "kdbdb/tbl/floatcol#"] {
            fs::write(lane.join(name), "ours").unwrap();
        }
        fs::write(folder.join("decision"), "ours").unwrap();
        lane
    }

    #[test]
    fn what_the_lane_made_goes() {
        let folder = tempfile::tempdir().unwrap();
        let own = OwnFiles::new(&lane(folder.path()), Some(folder.path().join("decision")));
        assert_eq!(own.remove(), Vec::<String>::new());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(own.remove(), Vec::<String>::new(), "a second time there is nothing to do");
    }

    #[test]
    fn what_somebody_else_put_there_stays_and_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let lane = lane(folder.path());
        fs::write(lane.join("kdbdb/theirs"), "theirs").unwrap();
        fs::create_dir_all(lane.join("seqreadSmall")).unwrap();
        let stays = OwnFiles::new(&lane, None).remove();
        assert_eq!(fs::read(lane.join("kdbdb/theirs")).unwrap(), b"theirs");
        assert!(lane.join("seqreadSmall").exists(), "a directory under one of our names");
        assert!(!lane.join("seqreadTiny").exists() && !lane.join("kdbdb/sym").exists());
        assert!(folder.path().join("decision").exists(), "it was not this lane's");
        assert_eq!(stays.len(), 3, "{stays:?}");
        let told = stays.iter().find(|told| told.contains("kdbdb stays")).unwrap();
        assert!(told.ends_with("it holds theirs, which this trial did not make"), "{told}");
    }

    #[test]
    fn a_lane_that_ends_early_takes_its_files_away_too() {
        let folder = tempfile::tempdir().unwrap();
        let lane = lane(folder.path());
        drop(OwnFiles::new(&lane, None));
        assert!(!lane.exists());
    }
}
