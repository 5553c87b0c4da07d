//! What crashes were seen to leave of candidates, on this machine and its kernel: `survived.json` in the folder of
//! undo records. It lowers what is declared of a file system and raises nothing: not to have seen a loss is no promise.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use pickfs_record::{BackingSpec, CandidateSpec, Cell, Seen};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{engines::engine_of, expand::Expansion};

const NAME: &str = "survived.json";
const FORMAT: u32 = 1;
/// Of a file that a stranger may have written.
const BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
#[error("{}: {why}; remove it, and explore crashes again", .path.display())]
pub struct SurvivedError {
    path: PathBuf,
    why: String,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Kept {
    format: u32,
    seen: Vec<Seen>,
}

fn default_folder() -> PathBuf {
    pickfs_candidate::undo::state_folder()
}

pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Options say what was mounted, whatever its label.
fn is_of(seen: &Seen, candidate: &CandidateSpec, kernel: &str) -> bool {
    let options =
        |of: &CandidateSpec| (of.fs.clone(), of.mount_options.clone(), of.mkfs_options.clone());
    seen.kernel == kernel && options(&seen.candidate) == options(candidate)
}

fn read(folder: &Path) -> Result<Vec<Seen>, SurvivedError> {
    let path = folder.join(NAME);
    let failed = |why: String| SurvivedError { path: path.clone(), why };
    let mut text = String::new();
    match File::open(&path) {
        Ok(file) => file.take(BYTES_MAX).read_to_string(&mut text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => Err(error),
    }
    .map_err(|error| failed(error.to_string()))?;
    let kept: Kept = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    match kept.format {
        FORMAT => Ok(kept.seen),
        other => Err(failed(format!("its format is {other}, and this version reads {FORMAT}"))),
    }
}

/// Beside what is known: of the same writer on the same candidate the lower class stays, and states of one class add up.
pub fn note(seen: &[Seen]) -> Result<(), SurvivedError> {
    note_in(&default_folder(), seen)
}

fn note_in(folder: &Path, new: &[Seen]) -> Result<(), SurvivedError> {
    let failed =
        |error: io::Error| SurvivedError { path: folder.join(NAME), why: error.to_string() };
    fs::create_dir_all(folder).map_err(failed)?;
    let locked = File::open(folder).map_err(failed)?;
    // Others may note at the same time; it goes with the open folder.
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| failed(error.into()))?;
    let mut seen = read(folder)?;
    for new in new {
        let same = seen
            .iter_mut()
            .find(|known| is_of(known, &new.candidate, &new.kernel) && known.writer == new.writer);
        match same {
            None => seen.push(new.clone()),
            Some(known) if new.survived.class < known.survived.class => *known = new.clone(),
            Some(known)
                if (new.survived.class, &new.survived.of)
                    == (known.survived.class, &known.survived.of) =>
            {
                known.survived.states += new.survived.states;
                known.survived.failed += new.survived.failed;
            }
            Some(_) => {}
        }
    }
    let text = serde_json::to_string_pretty(&Kept { format: FORMAT, seen }).unwrap_or_default();
    let write = || {
        let beside = folder.join(format!("{NAME}.new"));
        let mut file = File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(beside, folder.join(NAME))?;
        locked.sync_all()
    };
    write().map_err(failed)
}

/// In the cells of candidates that were seen under this kernel and are made here: a guest has another one, a folder is on
/// what was made before. A file that cannot be read is advice that is not taken.
pub(crate) fn replace_declared(expansion: &mut Expansion, backing: &BackingSpec) {
    let is_image = match backing {
        BackingSpec::Loop { .. } => true,
        BackingSpec::Device { log_device: None, .. } => false,
        _ => return,
    };
    let seen = read(&default_folder()).unwrap_or_default();
    replace(expansion, &seen, (&kernel(), is_image));
}

/// By the same writer alone: another may fail by a fault of its own. What it kept on an image says nothing of a device.
fn replace(expansion: &mut Expansion, seen: &[Seen], (kernel, is_image): (&str, bool)) {
    for cell in expansion.cells.iter_mut().filter(|cell| engine_of(cell).is_none()) {
        let writer = writer(cell);
        let counts = |known: &&Seen| {
            writer.as_ref() == Some(&known.writer)
                && known.promised == cell.durability
                && is_of(known, &cell.candidate, kernel)
                && (is_image || known.survived.failed > 0)
        };
        if let Some(known) = seen.iter().filter(counts).min_by_key(|known| known.survived.class) {
            cell.durability = cell.durability.min(known.survived.class);
            cell.survived = Some(known.survived.clone());
        }
    }
}

/// Of a journal that is as crashes try it: each record is synced, and written by itself.
fn writer(cell: &Cell) -> Option<String> {
    let params = &cell.workload.params;
    let word = |name: &str| params.get(name)?.as_str();
    let is = |name: &str, value: Value| params.get(name).is_none_or(|given| *given == value);
    let words = [("sync_every", "record"), ("framing", "record"), ("roll", "inline")];
    let is_tried =
        is("batch", 1.into()) && words.iter().all(|(name, word)| is(name, (*word).into()));
    let [path, sync, made] = ["write_path", "sync", "preallocation"].map(word);
    let is_journal = cell.workload.name == "journal" && is_tried;
    is_journal.then(|| Some(format!("journal/{}/{}/{}", path?, sync?, made?)))?
}

#[cfg(test)]
mod tests {
    use pickfs_record::{Durability, Survived};

    use super::*;
    use crate::{expand::expand, plans::planned, preflight::ceiling};

    fn seen(candidate: &str, writer: &str, class: Durability, failed: u64) -> Seen {
        let candidate = candidate.parse().expect("a candidate");
        let (of, kernel) = ("any-order/4096/honest".into(), "6.18.0".into());
        let survived = Survived { class, states: 4812, failed, of };
        let promised = Durability::PowerLoss;
        Seen { candidate, kernel, writer: writer.into(), promised, survived }
    }

    const PWRITE: &str = "journal/pwrite/fdatasync/none";

    #[test]
    fn the_lower_class_stays_and_a_broken_file_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let note = |seen: Seen| note_in(folder.path(), &[seen]).expect("kept");
        let kept = || {
            let seen = read(folder.path()).expect("read");
            let row =
                |seen: &Seen| (seen.survived.class, seen.survived.states, seen.survived.failed);
            seen.iter().map(row).collect::<Vec<_>>()
        };
        note(seen("ext4", PWRITE, Durability::PowerLoss, 0));
        note(seen("ext4", PWRITE, Durability::PowerLoss, 0));
        assert_eq!(kept(), [(Durability::PowerLoss, 9624, 0)]);
        note(seen("ext4", PWRITE, Durability::KernelCrash, 2));
        note(seen("ext4", PWRITE, Durability::PowerLoss, 0));
        assert_eq!(kept(), [(Durability::KernelCrash, 4812, 2)], "what was lost once stays lost");
        note(seen("ext4:barrier=0", PWRITE, Durability::KernelCrash, 2));
        assert_eq!(kept().len(), 2);
        fs::write(folder.path().join(NAME), "{\"format\": 9, \"seen\": []}").expect("written");
        let error = read(folder.path()).expect_err("another format").to_string();
        assert!(error.contains("its format is 9") && error.contains("remove it"), "{error}");
    }

    #[test]
    fn what_was_measured_lowers_what_is_declared_and_raises_nothing() {
        let mut plan = planned("quick");
        let candidates = ["ext4", "ext4:barrier=0", "xfs", "btrfs"];
        plan.candidates = candidates.map(|text| text.parse().expect("a candidate")).into();
        plan.without.clear();
        let workload = pickfs_workload::find("journal").expect("a workload");
        let expanded = expand(&plan, workload, |c| ceiling(c, &plan.backing));
        let expansion = expanded.expect("expands");
        let [process, kernel, power] =
            [Durability::ProcessCrash, Durability::KernelCrash, Durability::PowerLoss];
        let known = [
            seen("ext4", PWRITE, power, 0),
            Seen { promised: kernel, ..seen("ext4:barrier=0", PWRITE, power, 0) },
            seen("xfs", PWRITE, process, 9),
            // Another way says nothing of this one, whatever it lost.
            seen("btrfs", "journal/append/fsync/none", process, 9),
        ];
        let rows = |of: (&str, bool)| -> Vec<_> {
            let mut expansion = expansion.clone();
            replace(&mut expansion, &known, of);
            let failed = |cell: &Cell| cell.survived.as_ref().map(|survived| survived.failed);
            expansion.cells.iter().map(|cell| (cell.durability, failed(cell))).collect()
        };
        let unsynced = vec![(process, None); 4];
        let synced = |rows: [_; 4]| [unsynced.clone(), rows.to_vec()].concat();
        let declared = synced([(power, None), (kernel, None), (power, None), (power, None)]);
        assert_eq!(rows(("6.17.0", true)), declared, "another kernel");
        let here = [(power, Some(0)), (kernel, Some(0)), (process, Some(9)), (power, None)];
        assert_eq!(rows(("6.18.0", true)), synced(here));
        let disk = [(power, None), (kernel, None), (process, Some(9)), (power, None)];
        assert_eq!(rows(("6.18.0", false)), synced(disk), "a disk of other sectors");
        let words = "measured: lost 0 of 4,812 states of any-order/4096/honest";
        assert_eq!(known[0].survived.to_string(), words);
    }
}
