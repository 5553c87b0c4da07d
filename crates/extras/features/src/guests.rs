//! The survey of what guests mount, with no root: one guest after the other, the same questions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pickfs_candidate::fs::FileSystem;
use pickfs_guest::Guest;
use pickfs_guest::engine::DISK_INSIDE;
use pickfs_guest::trials::boot::MOUNTED_AT;
use pickfs_guest::trials::tour::{Means, Tour, TourError, Unvisited};
use pickfs_record::{BackingSpec, CandidateSpec, Environment};

use crate::answers::{Answer, FeatureRow, Presence, Verdict};
use crate::inside::{self, Task};
use crate::survey::{Asked, Listener, not_here, row_of};
use crate::table;

pub struct Request<'a> {
    pub means: Means<'a>,
    pub candidates: &'a [(CandidateSpec, &'static FileSystem)],
    /// An image.
    pub backing: &'a BackingSpec,
    /// For the image, unless the backing names another.
    pub folder: &'a Path,
    pub torn_time: Duration,
    /// The key of the one question that is put; of all of them without.
    pub only: Option<&'a str>,
}

/// More are not lost for one candidate.
const GUESTS_MAX: usize = 3;

/// As [`crate::survey`], of what the guests' kernel mounts; and what went wrong after the last answer: an image that was
/// not removed, a guest that did not power off.
///
/// # Errors
/// There is no image to make candidates on, or no program to make them by.
pub fn survey(
    request: &Request<'_>,
    listener: &mut dyn Listener,
) -> Result<(Vec<FeatureRow>, Option<TourError>), TourError> {
    let known: Vec<_> = request.candidates.iter().map(|(_, row)| *row).collect();
    let image = (request.backing, request.folder);
    let mut tour = Tour::prepare(request.means, &known, image, &mut |progress| {
        listener.hear(Asked::Preparing(progress.done_bytes, progress.total_bytes));
    })?;
    let mut rows = Vec::new();
    for (candidate, row) in request.candidates {
        if listener.is_stopped() {
            break;
        }
        let row = asked(&mut tour, (candidate, row), request, listener);
        listener.hear(Asked::Row(&row));
        rows.push(row);
    }
    Ok((rows, tour.end().err()))
}

fn asked(
    tour: &mut Tour<'_>,
    (candidate, row): (&CandidateSpec, &'static FileSystem),
    request: &Request<'_>,
    listener: &mut dyn Listener,
) -> FeatureRow {
    if let Some((reason, remedy)) = tour.gap(row) {
        return not_here(candidate, &reason, &remedy);
    }
    let known = unasked(request.only);
    let guests_max = known.len() + GUESTS_MAX;
    let mut talk = Talk { request, candidate, listener, known };
    let mut is_again = false;
    loop {
        let lost = talk.known.len();
        let mut answers = Vec::new();
        let visited = tour.visit(candidate, row, &mut |guest, inside| {
            let device = inside.needs_disk.then(|| DISK_INSIDE.into());
            answers = talk.ask(guest, device.clone(), None)?;
            if inside.needs_disk {
                let cooled = guest.cool(&|| request.means.interrupt.is_raised());
                cooled.map_err(|error| error.to_string())?;
                answers = talk.ask(guest, device, Some(answers.clone()))?;
            }
            Ok(presence(guest.facts()))
        });
        match visited {
            Err(Unvisited::Silent(reason)) if !is_again => {
                is_again = true;
                talk.listener.hear(Asked::Again(candidate, &reason));
            }
            Err(_) if talk.known.len() > lost && lost < guests_max => {}
            visited => {
                let failed = |why: Unvisited| Presence::Failed { reason: why.to_string() };
                let presence = visited.unwrap_or_else(failed);
                return row_of(candidate, presence, answers);
            }
        }
    }
}

fn unasked(only: Option<&str>) -> BTreeMap<usize, Answer> {
    let places = table::questions().enumerate();
    let others = places.filter(|(_, probe)| only.is_some_and(|key| key != probe.key));
    let answer = Answer::new(Verdict::NotAsked, "another question was put alone");
    others.map(|(place, _)| (place, answer.clone())).collect()
}

struct Talk<'t> {
    request: &'t Request<'t>,
    candidate: &'t CandidateSpec,
    listener: &'t mut dyn Listener,
    /// Not put: at these a guest was lost, or another one was wanted alone.
    known: BTreeMap<usize, Answer>,
}

impl Talk<'_> {
    /// All answers, or why there are not all. The question at which a guest is lost has its answer by that.
    fn ask(
        &mut self,
        guest: &Guest,
        device: Option<PathBuf>,
        first: Option<Vec<Answer>>,
    ) -> Result<Vec<Answer>, String> {
        let Talk { request, candidate, listener, known } = self;
        let (folder, torn_time) = (MOUNTED_AT.into(), request.torn_time);
        let task = Task { folder, device, torn_time, first, known: known.clone() };
        let given = serde_json::to_string(&task).map_err(|error| error.to_string())?;
        let questions = table::capabilities();
        let mut answers = Vec::new();
        let mut hear = |line: &str| {
            inside::hear(line, &mut answers)?;
            if let Some(next) = questions.get(answers.len()) {
                listener.hear(Asked::Question(candidate, next));
            }
            Ok(())
        };
        let stop = || request.means.interrupt.is_raised();
        let ended = guest.task(&[inside::WORD], &given, &mut hear, &stop);
        match (ended.map_err(|error| error.to_string()), questions.get(answers.len())) {
            (Ok(()), None) => Ok(answers),
            (Err(why), None) => Err(why),
            (ended, Some(next)) => {
                let why = ended.err().unwrap_or_else(|| "no answer".into());
                known.insert(answers.len(), Answer::new(Verdict::Failed, &why));
                Err(format!("asked for `{}`: {why}", next.label))
            }
        }
    }
}

fn presence(facts: &Environment) -> Presence {
    let fact = |key: &str| facts.get(key).unwrap_or("not told").to_owned();
    Presence::Asked {
        driver: fact("mount.driver"),
        options: fact("mount.options"),
        engine: fact("guest.engine"),
        kernel: fact("guest.kernel"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KEEPS;

    #[test]
    fn one_question_alone_leaves_out_all_others() {
        assert!(unasked(None).is_empty());
        let (left, all) = (unasked(Some(KEEPS)), table::questions().count());
        let place = table::questions().position(|probe| probe.key == KEEPS).unwrap();
        assert!(left.len() + 1 == all && !left.contains_key(&place), "{left:?}");
    }
}
