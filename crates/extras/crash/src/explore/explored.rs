//! Looks at each state that is not known yet, and counts.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::likeness::Likeness;
use super::plan::Plan;
use super::state::{Kept, State, StateError};
use crate::check::{Found, Loss};
use crate::log::Remains;
use crate::model::Windows;
use crate::oracle::Due;

/// Failures that are kept with their texts; all are counted.
const FAILURES_MAX: usize = 16;
/// After so many looks it is asked again whether a loss would be seen.
const LOOKS_EACH: u64 = 500;

/// What a sight of an image says about the same image with more due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// Which records are there: what is lost follows from what is due.
    Records,
    /// Fine or not, by what is due: it is asked again when that changes.
    Verdict,
}

/// Counts of states. One may be several things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// An acknowledged record is not there.
    pub lost: u64,
    pub unmountable: u64,
    pub foreign: u64,
    pub damaged: u64,
    pub refused: u64,
    /// With any of these.
    pub failed: u64,
    /// With a torn tail, and no failure by it.
    pub torn: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// Its text makes it again.
    pub state: State,
    pub found: Found,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Explored {
    /// That differ in their image or in what is due.
    pub states: u64,
    /// That were mounted.
    pub images: u64,
    /// Epochs of which something may go, and those of them with every subset.
    pub epochs: u64,
    pub epochs_whole: u64,
    pub tally: Tally,
    /// The first ones, those of a new kind before others.
    pub failures: Vec<Failure>,
}

#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error("no record was acknowledged, so none can be lost; let the writer run longer")]
    NothingDue,
    /// The replay showed another image, from a cache, or the check does not notice a loss.
    #[error(
        "the check is content although nothing of the recording is on the disk and {due} records \
         are due: it cannot see a loss; nothing was explored"
    )]
    Blind { due: u64 },
    #[error("the check fails although everything is on the disk: {0}; nothing was explored")]
    Broken(String),
    #[error(transparent)]
    State(#[from] StateError),
}

impl Tally {
    fn add(&mut self, found: &Found) {
        let any = |is_it: fn(&Loss) -> bool| u64::from(found.losses.iter().any(is_it));
        self.lost += u64::from(found.survived < found.due) | any(|l| matches!(l, Loss::Lost(_)));
        self.unmountable += any(|loss| matches!(loss, Loss::Unmountable(_)));
        self.foreign += any(|loss| matches!(loss, Loss::Foreign(_)));
        self.damaged += any(|loss| matches!(loss, Loss::Damaged(_)));
        self.refused += any(|loss| matches!(loss, Loss::Refused(_)));
        self.failed += u64::from(found.is_fault());
        self.torn += u64::from(found.is_torn);
    }
}

/// It begins and ends with a state that must fail; a check of somebody else must be content with the end of the log. `each`
/// hears of every state that is looked at or judged anew. Where it ends early, `explored` has what was found until then.
pub fn explore<E: From<Stopped>>(
    windows: &Windows<'_>,
    due: &Due,
    plan: Plan,
    sees: Sees,
    look: &mut dyn FnMut(&State, &Remains) -> Result<Found, E>,
    each: &mut dyn FnMut(&State, &Found),
    explored: &mut Explored,
) -> Result<(), E> {
    let all = due.at(windows.log().end());
    if all == 0 {
        return Err(Stopped::NothingDue.into());
    }
    let remains = |state: &State| state.remains(windows).map_err(Stopped::from);
    let end = |kept| State::new(windows.crash(), windows.log().end(), kept);
    let nothing = end(Kept::Start);
    let start = remains(&nothing)?;
    type Look<'l, E> = &'l mut dyn FnMut(&State, &Remains) -> Result<Found, E>;
    let sees_a_loss = |look: Look<'_, E>| match look(&nothing, &start)?.is_fault() {
        true => Ok(()),
        false => Err(E::from(Stopped::Blind { due: all })),
    };
    sees_a_loss(look)?;
    let mut likeness = Likeness::new(windows.log(), windows.start());
    let mut known: HashMap<(u64, u64), Found> = HashMap::new();
    let mut counted = HashSet::new();
    let mut states = Plan { states: plan.states.saturating_sub(1), ..plan }.states(windows);
    let mut everything = Some(end(Kept::All));
    loop {
        let next = everything.take().or_else(|| states.next());
        (explored.epochs, explored.epochs_whole) = (states.met, states.whole);
        let Some(state) = next else { break };
        let remains = remains(&state)?;
        let (image, due) = (likeness.of(&remains), due.at(remains.crash));
        if !counted.insert((image, due)) {
            continue;
        }
        let key = (image, if sees == Sees::Records { 0 } else { due });
        let found = match known.get(&key) {
            Some(found) => found.clone().judged(due),
            None => {
                explored.images += 1;
                if explored.images % LOOKS_EACH == 0 {
                    sees_a_loss(look)?;
                }
                let found = look(&state, &remains)?;
                let refused = found.losses.iter().find(|loss| matches!(loss, Loss::Refused(_)));
                if let (1, Sees::Verdict, Some(loss)) = (explored.images, sees, refused) {
                    return Err(Stopped::Broken(loss.to_string()).into());
                }
                known.insert(key, found.clone());
                found
            }
        };
        each(&state, &found);
        explored.add(&state, found);
    }
    // A cache may have begun to answer meanwhile.
    sees_a_loss(look)
}

impl Explored {
    fn add(&mut self, state: &State, found: Found) {
        self.states += 1;
        self.tally.add(&found);
        if !found.is_fault() {
            return;
        }
        let kinds =
            |found: &Found| -> Vec<_> { found.losses.iter().map(std::mem::discriminant).collect() };
        let is_new = !self.failures.iter().any(|known| kinds(&known.found) == kinds(&found));
        let room = if is_new { FAILURES_MAX } else { FAILURES_MAX / 2 };
        if self.failures.len() < room {
            self.failures.push(Failure { state: state.clone(), found });
        }
    }
}
