//! All ranks come with a word, each when it has one, and leave with the one word that rank 0 makes of them. Whoever is still at
//! work hears at once that another one has given up; and who is not there any more is found and named.

use std::time::Instant;

use crate::{
    error::RanksError,
    group::{Group, Naps, Wait},
    mpi::Transfer,
};

/// From rank 0: are you there? To it: yes, and at work. No word of anybody.
const THERE: u8 = 0;
/// A word, and whose it is.
const WORD_BYTES: usize = 5;

const WHAT: &str = "where the other lanes are";

/// Where the worker of a lane stands; the largest of all lanes says what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Step {
    /// Warmed up, waiting for the word.
    Ready = 1,
    AtGate,
    /// The first lane wants caches dropped, while the others are at the gate.
    Cold,
    Ended,
    /// It failed, was skipped or died: what it said last says how. Nobody else is waited for.
    Broken,
}

impl Step {
    fn of(word: u8) -> Step {
        let known = [Step::Ready, Step::AtGate, Step::Cold, Step::Ended];
        known.into_iter().find(|step| *step as u8 == word).unwrap_or(Step::Broken)
    }

    /// Of all lanes together. One that is elsewhere than the others cannot be helped.
    fn of_all(steps: &[Step]) -> Step {
        match (steps.iter().min(), steps.iter().max()) {
            (Some(least), Some(most)) if least == most => *most,
            (Some(Step::AtGate), Some(Step::Cold)) => Step::Cold,
            _ => Step::Broken,
        }
    }
}

/// `own` gives the step, when there is one; it hears whether all others have come. Who is late and still there is waited for
/// again where that is asked for; else all others come within the group's patience of the first.
pub(crate) fn meet(
    group: &Group<'_>,
    waits_for_the_living: bool,
    own: &mut dyn FnMut(bool) -> Option<Step>,
) -> Result<Step, RanksError> {
    match group.is_first() {
        true => Led::new(group, waits_for_the_living).lead(own),
        false => follow(group, own),
    }
}

fn follow(
    group: &Group<'_>,
    own: &mut dyn FnMut(bool) -> Option<Step>,
) -> Result<Step, RanksError> {
    let (mut naps, mut has_come) = (Naps::new(Wait::Asleep), false);
    let (mut from_first, mut heard) = (group.mpi.receive(0, 1)?, Instant::now());
    loop {
        match from_first.poll()?.map(|bytes| bytes[0]) {
            Some(THERE) => {
                if !has_come {
                    group.tell_first(THERE)?;
                }
                (from_first, heard) = (group.mpi.receive(0, 1)?, Instant::now());
            }
            Some(verdict) => {
                // Rank 0 waits for one word of each, whatever it is.
                if !has_come {
                    group.tell_first(Step::Broken as u8)?;
                }
                return Ok(Step::of(verdict));
            }
            None if has_come => {
                let limit = group.patience + group.answer;
                if heard.elapsed() > limit {
                    return Err(group.missing(&[0], WHAT, limit));
                }
            }
            None => {
                if let Some(step) = own(false) {
                    group.tell_first(step as u8)?;
                    (has_come, heard) = (true, Instant::now());
                }
            }
        }
        naps.take();
    }
}

/// The meeting as rank 0 holds it.
struct Led<'a, 'm> {
    group: &'a Group<'m>,
    waits_for_the_living: bool,
    steps: Vec<Option<Step>>,
    /// Of the other ranks that have no step yet: one alone, so that a rank 0 that waits for ten thousand asks MPI no more often
    /// than one that waits for two.
    coming: Option<Box<dyn Transfer + 'a>>,
    missing: usize,
    /// Since when those who are late are waited for.
    since: Option<Instant>,
    /// Who has not yet answered that it is there, where that was asked.
    asked: Option<Vec<usize>>,
    is_broken: bool,
}

impl<'a, 'm> Led<'a, 'm> {
    fn new(group: &'a Group<'m>, waits_for_the_living: bool) -> Led<'a, 'm> {
        let (steps, missing) = (vec![None; group.mpi.size()], group.mpi.size() - 1);
        let (coming, since, asked, is_broken) = (None, None, None, false);
        Led { group, waits_for_the_living, steps, coming, missing, since, asked, is_broken }
    }

    fn lead(mut self, own: &mut dyn FnMut(bool) -> Option<Step>) -> Result<Step, RanksError> {
        let mut naps = Naps::new(Wait::Asleep);
        loop {
            self.hear()?;
            if self.steps[0].is_none() {
                self.steps[0] = own(self.missing == 0);
            }
            if !self.is_broken && self.steps.contains(&Some(Step::Broken)) {
                self.steps[0].get_or_insert(Step::Broken);
                self.is_broken = true;
                self.tell(Step::Broken as u8)?;
                self.since = None;
            }
            let size = self.steps.len();
            let late: Vec<usize> = (0..size).filter(|rank| self.steps[*rank].is_none()).collect();
            match late.len() {
                0 => break,
                some if some == size => {}
                _ => self.wait_for(&late)?,
            }
            naps.take();
        }
        let steps: Vec<Step> = self.steps.iter().flatten().copied().collect();
        let verdict = Step::of_all(&steps);
        if !self.is_broken {
            self.tell(verdict as u8)?;
        }
        Ok(verdict)
    }

    fn hear(&mut self) -> Result<(), RanksError> {
        while self.missing > 0 {
            let mut coming = match self.coming.take() {
                Some(coming) => coming,
                None => self.group.mpi.hear_any(WORD_BYTES)?,
            };
            let Some(bytes) = coming.poll()? else {
                self.coming = Some(coming);
                break;
            };
            let (word, rank) = whose(&bytes, self.steps.len())?;
            if word == THERE {
                self.asked.iter_mut().for_each(|asked| asked.retain(|one| *one != rank));
            } else {
                self.missing -= usize::from(self.steps[rank].replace(Step::of(word)).is_none());
            }
        }
        Ok(())
    }

    fn tell(&self, word: u8) -> Result<(), RanksError> {
        let mut others = 1..self.steps.len();
        others.try_for_each(|rank| self.group.send(rank, vec![word], Wait::Asleep))
    }

    fn wait_for(&mut self, late: &[usize]) -> Result<(), RanksError> {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        let is_asking = self.is_broken || self.asked.is_some();
        let limit = if is_asking { self.group.answer } else { self.group.patience };
        let silent = |asked: &Vec<usize>| -> Vec<usize> {
            asked.iter().copied().filter(|rank| self.steps[*rank].is_none()).collect()
        };
        if let Some(asked) = self.asked.as_ref().map(silent) {
            if asked.is_empty() {
                (self.asked, self.since) = (None, Some(Instant::now()));
            } else if waited > limit {
                return Err(self.group.missing(&asked, WHAT, limit));
            }
        } else if waited > limit {
            if self.is_broken || !self.waits_for_the_living {
                return Err(self.group.missing(late, WHAT, limit));
            }
            self.tell(THERE)?;
            let others = late.iter().copied().filter(|rank| *rank > 0);
            (self.asked, self.since) = (Some(others.collect()), Some(Instant::now()));
        }
        Ok(())
    }
}

fn whose(bytes: &[u8], size: usize) -> Result<(u8, usize), RanksError> {
    let [word, rank @ ..] = *bytes.first_chunk::<WORD_BYTES>().unwrap_or(&[0; WORD_BYTES]);
    match u32::from_le_bytes(rank) as usize {
        rank if (1..size).contains(&rank) => Ok((word, rank)),
        rank => Err(RanksError::Told(format!(
            "a word of rank {rank} came, and the others are 1 to {}; this is a bug in pickfs, please tell us",
            size - 1
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pickfs_testkit::until;

    use super::*;
    use crate::mpi::{
        Mpi,
        fake::{FakeMpi, all},
    };

    const LONG: Duration = Duration::from_secs(60);
    /// Whoever comes has come before it begins.
    const NONE: Duration = Duration::ZERO;

    #[test]
    fn lanes_that_stand_alike_go_on_and_one_that_stands_elsewhere_breaks_them() {
        use Step::{AtGate, Broken, Cold, Ended, Ready};
        for (steps, all) in [
            (&[Ready, Ready][..], Ready),
            (&[AtGate, AtGate], AtGate),
            (&[Cold, AtGate, AtGate], Cold),
            (&[Cold], Cold),
            (&[Ended, Ended], Ended),
            (&[Ready, Broken], Broken),
            (&[AtGate, Ended], Broken),
            (&[Cold, Ready], Broken),
        ] {
            assert_eq!(Step::of_all(steps), all, "{steps:?}");
            assert_eq!(Step::of(all as u8), all);
        }
    }

    fn group(mpi: &FakeMpi, patience: Duration) -> Group<'_> {
        let hosts = ["h1", "h2", "h3"].map(String::from).into();
        Group { hosts, ..Group::new(mpi, patience) }
    }

    #[test]
    fn all_leave_with_one_word_and_the_last_one_hears_that_all_others_wait() {
        let given = all(3, |mpi| {
            let mut heard = false;
            let own = &mut |others| {
                heard |= others;
                // Rank 0 comes last.
                (mpi.rank() > 0 || others).then_some(Step::Ready)
            };
            (meet(&group(&mpi, LONG), false, own).unwrap(), heard)
        });
        assert_eq!(given, [true, false, false].map(|heard| (Step::Ready, heard)));
    }

    /// Nobody waits for the word of ranks that are at work, which end theirs at once.
    #[test]
    fn one_who_gives_up_is_heard_by_all_who_are_at_work_wherever_it_is() {
        for broken in 0..3 {
            let given = all(3, |mpi| {
                let own = &mut |_| (mpi.rank() == broken).then_some(Step::Broken);
                meet(&group(&mpi, LONG), false, own).unwrap()
            });
            assert_eq!(given, [Step::Broken; 3]);
        }
    }

    #[test]
    fn who_does_not_come_is_named_with_its_host_wherever_it_is() {
        for missing in [0, 2] {
            let given = all(3, |mpi| {
                let group = group(&mpi, NONE);
                if mpi.rank() > 0 {
                    if mpi.rank() != missing {
                        group.tell_first(Step::Ended as u8).unwrap();
                    }
                    return String::new();
                }
                for rank in (1..3).filter(|rank| *rank != missing) {
                    until("the word of one that comes", || (mpi.sent(rank, 0) > 0).then_some(()));
                }
                let own = &mut |_| (missing != 0).then_some(Step::Ended);
                meet(&group, false, own).unwrap_err().to_string()
            });
            let who = format!("rank {missing} on h{} did not come to {WHAT} in", missing + 1);
            assert!(given[0].starts_with(&who), "{}", given[0]);
        }
    }

    #[test]
    fn a_word_of_nobody_is_told() {
        assert_eq!(whose(&[4, 2, 0, 0, 0], 3).unwrap(), (4, 2));
        for nobody in [0, 3, 255] {
            let error = whose(&[4, nobody, 0, 0, 0], 3).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a word of rank {nobody} came")), "{error}");
        }
    }

    #[test]
    fn one_who_is_late_and_alive_is_waited_for_and_those_who_are_gone_are_named() {
        let given = all(3, |mpi| {
            let group = Group { answer: LONG, ..group(&mpi, NONE) };
            // Rank 1 works until it has been asked three times.
            let has_word = || mpi.rank() != 1 || mpi.sent(0, 1) >= 3;
            let met = meet(&group, true, &mut |_| has_word().then_some(Step::Ended)).unwrap();
            // Then the others do not come any more.
            let group = Group { answer: NONE, ..group };
            let again = (mpi.rank() == 0).then(|| meet(&group, true, &mut |_| Some(Step::Ended)));
            (met, again.and_then(Result::err).map(|error| error.to_string()))
        });
        assert!(given.iter().all(|(met, _)| *met == Step::Ended), "{given:?}");
        let lost = given[0].1.clone().unwrap_or_default();
        assert!(lost.starts_with("rank 1 on h2, rank 2 on h3 did not come"), "{lost}");
    }
}
