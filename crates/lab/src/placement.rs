//! Which CPU measures: the last one that this process may use; helpers take the first,
//! where interrupts and the lab itself live.

/// CPUs by their part in a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPU of the measuring thread; free choice on a single CPU.
    pub measuring: Option<u32>,
    /// CPU of helper threads and of the lab.
    pub helping: Option<u32>,
}

/// Gives the thread its CPUs back.
#[derive(Debug)]
pub struct KeptOff {
    before: Vec<u32>,
}

impl Drop for KeptOff {
    fn drop(&mut self) {
        if !self.before.is_empty() {
            let _ = pickfs_sys::affinity::pin_to(&self.before);
        }
    }
}

impl Placement {
    /// Chooses among the CPUs that this process may use.
    pub fn choose() -> Placement {
        let allowed = pickfs_sys::affinity::allowed_processors().unwrap_or_default();
        Placement::among(&allowed)
    }

    fn among(allowed: &[u32]) -> Placement {
        match allowed {
            [first, .., last] => Placement { measuring: Some(*last), helping: Some(*first) },
            _ => Placement::default(),
        }
    }

    /// Keeps the calling thread off the measuring CPU until the guard is dropped. Only while
    /// a worker runs: what makes, mounts and serves a candidate must keep the whole machine.
    pub fn keep_off(&self) -> KeptOff {
        let allowed = pickfs_sys::affinity::allowed_processors().unwrap_or_default();
        let others: Vec<u32> =
            allowed.iter().copied().filter(|cpu| Some(*cpu) != self.measuring).collect();
        if !others.is_empty() {
            let _ = pickfs_sys::affinity::pin_to(&others);
        }
        KeptOff { before: allowed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_cpus_back() {
        let before = pickfs_sys::affinity::allowed_processors().expect("readable");
        let placement = Placement::choose();
        let kept_off = placement.keep_off();
        let during = pickfs_sys::affinity::allowed_processors().expect("readable");
        assert!(placement.measuring.is_none_or(|cpu| !during.contains(&cpu)));
        drop(kept_off);
        assert_eq!(pickfs_sys::affinity::allowed_processors().expect("readable"), before);
        assert_eq!(Placement::choose(), placement);
    }

    #[test]
    fn one_cpu_is_left_to_the_scheduler() {
        assert_eq!(Placement::among(&[3]), Placement::default());
        let two = Placement::among(&[0, 1, 5]);
        assert_eq!((two.measuring, two.helping), (Some(5), Some(0)));
    }
}
