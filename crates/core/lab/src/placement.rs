//! Which CPU measures: the last one that this process may use; helpers take the first,
//! where interrupts and the lab itself live. Or those that the user named.

use pickfs_record::{Cpus, cpus::list_text};
use pickfs_sys::affinity::{allowed_processors, pin_to};
use pickfs_sys::refused::Refused;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPU of the measuring thread; free choice on a single CPU.
    pub measuring: Option<u32>,
    /// CPU of helper threads and of the lab.
    pub helping: Option<u32>,
    asked: Option<Cpus>,
}

#[derive(Debug)]
pub struct KeptOff {
    before: Vec<u32>,
}

impl Drop for KeptOff {
    fn drop(&mut self) {
        if !self.before.is_empty() {
            let _ = pin_to(&self.before);
        }
    }
}

impl Placement {
    pub fn choose(asked: Option<&Cpus>) -> Placement {
        match asked {
            Some(cpus) => Placement {
                measuring: cpus.measure.first().copied(),
                helping: cpus.help.first().copied(),
                asked: Some(cpus.clone()),
            },
            None => Placement::among(&allowed_processors().unwrap_or_default()),
        }
    }

    fn among(allowed: &[u32]) -> Placement {
        match allowed {
            [first, .., last] => {
                Placement { measuring: Some(*last), helping: Some(*first), asked: None }
            }
            _ => Placement::default(),
        }
    }

    /// For phases, whose threads and lanes are many: none is pinned to one CPU.
    pub fn of_phases(&self) -> Placement {
        Placement { asked: self.asked.clone(), ..Placement::default() }
    }

    pub fn of_worker(&self) -> Vec<u32> {
        let Some(cpus) = &self.asked else { return Vec::new() };
        let helpers = cpus.help.iter().filter(|_| self.measuring.is_some());
        cpus.measure.iter().chain(helpers).copied().collect()
    }

    pub fn lists(&self) -> Option<(String, String)> {
        match &self.asked {
            Some(cpus) => Some((list_text(&cpus.measure), list_text(&cpus.help))),
            None => Some((self.measuring?.to_string(), self.helping?.to_string())),
        }
    }

    /// Keeps the calling thread off the measuring CPUs until the guard is dropped. Only while
    /// a worker runs: what makes, mounts and serves a candidate must keep the whole machine.
    pub fn keep_off(&self) -> KeptOff {
        let allowed = allowed_processors().unwrap_or_default();
        let others: Vec<u32> = match &self.asked {
            Some(cpus) => cpus.help.clone(),
            None => allowed.iter().copied().filter(|cpu| Some(*cpu) != self.measuring).collect(),
        };
        if !others.is_empty() {
            let _ = pin_to(&others);
        }
        KeptOff { before: allowed }
    }
}

/// Tries each named CPU on a thread of its own: one that is isolated is in nobody's mask, and may be
/// used all the same.
pub fn check(cpus: &Cpus) -> Result<(), Refused> {
    let all: Vec<u32> = cpus.measure.iter().chain(&cpus.help).copied().collect();
    let tried = std::thread::spawn(move || all.iter().try_for_each(|cpu| pin_to(&[*cpu])));
    tried.join().expect("pinning does not panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_cpus_back() {
        let before = allowed_processors().expect("readable");
        let placement = Placement::choose(None);
        let kept_off = placement.keep_off();
        let during = allowed_processors().expect("readable");
        assert!(placement.measuring.is_none_or(|cpu| !during.contains(&cpu)));
        drop(kept_off);
        assert_eq!(allowed_processors().expect("readable"), before);
        assert_eq!(Placement::choose(None), placement);
    }

    #[test]
    fn one_cpu_is_left_to_the_scheduler() {
        assert_eq!(Placement::among(&[3]), Placement::default());
        let two = Placement::among(&[0, 1, 5]);
        assert_eq!((two.measuring, two.helping), (Some(5), Some(0)));
    }

    #[test]
    fn named_cpus_measure_and_help_and_one_that_is_not_there_is_told() {
        let cpus: Cpus = "measure=4,6,help=1,2".parse().expect("two lists");
        let placement = Placement::choose(Some(&cpus));
        assert_eq!((placement.measuring, placement.helping), (Some(4), Some(1)));
        assert_eq!(placement.of_worker(), [4, 6, 1, 2]);
        assert_eq!(placement.of_phases().of_worker(), [4, 6], "phases leave the helpers alone");
        assert_eq!(placement.lists(), Some(("4,6".into(), "1-2".into())));
        let absent: Cpus = "measure=1000,help=0".parse().expect("two lists");
        let error = check(&absent).expect_err("no such CPU").to_string();
        assert!(error.contains("[1000]"), "{error}");
    }
}
