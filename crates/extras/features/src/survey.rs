//! Candidates, one after the other: made on a scratch, mounted, asked, taken
//! away. What cannot be tried is a row with its reason, never the end of it all.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::answers::{Answer, Capability, FeatureRow, Presence, Verdict};
use pickfs_candidate::fs::{self, FileSystem};
use pickfs_candidate::{Availability, Scratch, TargetError};
use pickfs_record::{BackingSpec, CandidateSpec};
use pickfs_sys::mount;

use crate::class::classify;
use crate::room::Room;
use crate::table;

/// The engine of what this machine mounts.
pub(crate) const NATIVE: &str = "native";

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub candidates: Vec<CandidateSpec>,
    /// What they are made on. In a directory nothing is made and the candidate is `dir`.
    pub backing: BackingSpec,
    /// An existing folder for the mount point and, unless the backing names another, the image.
    pub run_dir: PathBuf,
    pub torn_time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked<'a> {
    /// Bytes done, of all.
    Preparing(u64, u64),
    Question(&'a CandidateSpec, &'a Capability),
    /// Its guest fell silent before it had mounted it; it is asked once more, in a new one.
    Again(&'a CandidateSpec, &'a str),
    Row(&'a FeatureRow),
}

pub trait Listener {
    fn hear(&mut self, asked: Asked);
    /// No further question is wanted; what is mounted is taken away in order.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The answers of a row are parallel to [`table::capabilities`]. Whatever is wrong with a
/// candidate is in its row; an error is that there is no scratch to make candidates on.
pub fn survey(
    request: &Request,
    listener: &mut dyn Listener,
) -> Result<Vec<FeatureRow>, TargetError> {
    let mut scratch = None;
    let mut rows = Vec::new();
    for candidate in &request.candidates {
        if listener.is_stopped() {
            break;
        }
        let row = match missing(candidate, &request.backing) {
            Some(presence) => row_of(candidate, presence, Vec::new()),
            None => {
                if scratch.is_none() {
                    scratch = Some(prepare(request, listener)?);
                }
                let scratch = scratch.as_mut().expect("made one line above");
                ask_candidate(scratch, candidate, request, listener)
            }
        };
        listener.hear(Asked::Row(&row));
        rows.push(row);
    }
    if let Some(scratch) = scratch {
        scratch.remove()?;
    }
    Ok(rows)
}

fn prepare(request: &Request, listener: &mut dyn Listener) -> Result<Scratch, TargetError> {
    Scratch::prepare(&request.backing, &request.run_dir, &mut |progress| {
        listener.hear(Asked::Preparing(progress.done_bytes, progress.total_bytes));
    })
}

/// What this machine lacks for a candidate; nothing is touched to find out.
fn missing(candidate: &CandidateSpec, backing: &BackingSpec) -> Option<Presence> {
    if let BackingSpec::Directory { .. } = backing {
        return None;
    }
    match pickfs_candidate::availability(&candidate.fs) {
        Availability::Ready => None,
        Availability::Missing(missing) => {
            Some(Presence::Missing { reason: missing.reason, remedy: missing.remedy })
        }
    }
}

fn ask_candidate(
    scratch: &mut Scratch,
    candidate: &CandidateSpec,
    request: &Request,
    listener: &mut dyn Listener,
) -> FeatureRow {
    let device = scratch.device().map(Path::to_owned);
    let mut log = Vec::new();
    let mut mounted =
        match scratch.make_and_mount(candidate, &request.run_dir.join("mnt"), &mut log) {
            Ok(mounted) => mounted,
            Err(error) => {
                let reason = error.to_string();
                return row_of(candidate, Presence::Failed { reason }, Vec::new());
            }
        };
    let fact = |key: &str| mounted.environment.get(key).unwrap_or("not told").to_owned();
    let presence = Presence::Asked {
        driver: fact("mount.driver"),
        options: fact("mount.options"),
        engine: NATIVE.into(),
        kernel: rustix::system::uname().release().to_string_lossy().into(),
    };
    let source = || mount::mount_of(&mounted.directory).ok().map(|entry| entry.source);
    let device = device.or_else(|| source().filter(|source| source.starts_with("/dev")));
    // A candidate in memory has the scratch's device beside it, not under it.
    let device = device.filter(|_| mounted.backing != pickfs_record::BackingKind::Memory);
    let mut room = Room::new(&mounted.directory, device.as_deref());
    room.torn_time = request.torn_time;
    room.is_scratch = !matches!(request.backing, BackingSpec::Directory { .. });
    let mut answers = ask(&room, candidate, listener);
    match mounted.mount_again(&mut log) {
        Ok(false) => {}
        Ok(true) => answers = ask_again(&room, answers),
        Err(error) => {
            let reason = format!("asked, and then not mounted again: {error}");
            return row_of(candidate, Presence::Failed { reason }, answers);
        }
    }
    // Of a directory, what is mounted there.
    let found = mounted.environment.get("mount.type").filter(|_| fs::find(&candidate.fs).is_none());
    let named = found.unwrap_or(&candidate.fs).to_owned();
    match mounted.unmount(&mut log) {
        Ok(_) => named_row(candidate, named, presence, answers),
        Err(error) => {
            let reason = format!("asked, and then not unmounted: {error}");
            row_of(candidate, Presence::Failed { reason }, answers)
        }
    }
}

fn ask(room: &Room, candidate: &CandidateSpec, listener: &mut dyn Listener) -> Vec<Answer> {
    let asked = table::questions().map(|probe| {
        if listener.is_stopped() {
            return Answer::new(Verdict::NotAsked, "interrupted");
        }
        listener.hear(Asked::Question(candidate, &table::capability(probe.key)));
        probe.ask(room)
    });
    asked.collect()
}

/// What was left behind is looked at again after a new mount: what a driver keeps in memory alone
/// does not count.
fn ask_again(room: &Room, answers: Vec<Answer>) -> Vec<Answer> {
    let looked = table::questions().zip(answers);
    looked.map(|(probe, first)| probe.ask_again(room, first)).collect()
}

pub fn not_here(candidate: &CandidateSpec, reason: &str, remedy: &str) -> FeatureRow {
    let presence = Presence::Missing { reason: reason.into(), remedy: remedy.into() };
    row_of(candidate, presence, Vec::new())
}

pub(crate) fn row_of(
    candidate: &CandidateSpec,
    presence: Presence,
    answers: Vec<Answer>,
) -> FeatureRow {
    named_row(candidate, candidate.fs.clone(), presence, answers)
}

fn named_row(
    candidate: &CandidateSpec,
    fs: String,
    presence: Presence,
    answers: Vec<Answer>,
) -> FeatureRow {
    let origin = fs::find(&fs).and_then(FileSystem::facts);
    let asked: Vec<_> = table::capabilities().into_iter().zip(answers.iter().cloned()).collect();
    let classification = origin.as_ref().map(|origin| classify(origin, &asked));
    FeatureRow { label: candidate.label.clone(), fs, presence, answers, origin, classification }
}
