//! What the other hosts see of it, and when.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::Path,
};

use pickfs_record::{Clock, MonotonicClock, OpIndex};

use super::{
    record::{Sight, read_words, word},
    site::{Site, keep},
    tell::{CURRENT, STORED, Sign, unmapped},
};
use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
};

pub(super) struct Looking {
    site: Site,
    pub(super) sign: Sign,
    /// By number.
    seen_ns: Vec<Option<u64>>,
    /// All before it are seen.
    first_unseen: usize,
    newest: Option<u64>,
    began_ns: Option<u64>,
    looked_ns: u64,
    /// `seen`, `not_seen`, `versions_skipped` for newer ones, `seen_too_early`, `older_after_newer`, `torn_looks`,
    /// `failed_looks`.
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) note: Option<String>,
}

impl Looking {
    pub(super) fn new(site: Site, sign: Sign) -> Looking {
        let seen_ns = vec![None; site.events as usize];
        let (first_unseen, newest, began_ns, looked_ns) = (0, None, None, 0);
        let (counts, note) = (BTreeMap::new(), None);
        Looking { site, sign, seen_ns, first_unseen, newest, began_ns, looked_ns, counts, note }
    }

    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    fn has_versions(&self) -> bool {
        matches!(self.sign, Sign::Current | Sign::Page(..))
    }

    /// No more is to come, or it is seen already.
    fn see(&mut self, number: u64) {
        let now_ns = MonotonicClock.now_ns();
        if self.newest.is_some_and(|newest| newest > number) && self.has_versions() {
            return self.count("older_after_newer");
        }
        let Some(seen_ns) = self.seen_ns.get_mut(number as usize) else { return };
        seen_ns.get_or_insert(now_ns);
        self.newest = self.newest.max(Some(number));
        while self.seen_ns.get(self.first_unseen).is_some_and(Option::is_some) {
            self.first_unseen += 1;
        }
    }

    /// A version is its number and one more: the first file and an empty page have none.
    fn see_version(&mut self, version: u64) {
        if let Some(number) = version.checked_sub(1) {
            self.see(number);
        } else if self.newest.is_some() {
            self.count("older_after_newer");
        }
    }

    pub(super) fn look(&mut self) -> Result<(), Fault> {
        match &mut self.sign {
            Sign::Tail(..) => self.look_at_tail(),
            &mut Sign::Names { come } => self.look_for_names(come),
            Sign::Current => match begin_of(&self.site.folder.join(CURRENT)) {
                Ok(bytes) => match read_words(&bytes).as_deref() {
                    Some(&[version]) => self.see_version(version),
                    _ => self.count("torn_looks"),
                },
                Err(_) => self.count("failed_looks"),
            },
            Sign::Page(map, numbers) => {
                let mut stored = [0; 8];
                map.read_at(STORED, &mut stored).map_err(unmapped)?;
                if numbers.len() < self.seen_ns.len() {
                    numbers.push(map.add_at(0, 1).map_err(unmapped)?);
                }
                self.see_version(word(&stored, 0));
            }
        }
        Ok(())
    }

    /// All records that are there by now.
    fn look_at_tail(&mut self) {
        while let (Sign::Tail(_, reader), false) =
            (&mut self.sign, self.first_unseen == self.seen_ns.len())
        {
            match reader.look(self.first_unseen as u64) {
                Ok(Sight::Whole) => self.see(self.first_unseen as u64),
                Ok(Sight::Nothing) => return,
                Ok(Sight::Torn) => return self.count("torn_looks"),
                Err(_) => return self.count("failed_looks"),
            }
        }
    }

    /// Those that were due by now, and the next one: it is looked for in vain before it comes, as programs do.
    fn look_for_names(&mut self, come: bool) {
        let now_ns = MonotonicClock.now_ns();
        let passed_ns = now_ns - *self.began_ns.get_or_insert(now_ns);
        let next = (passed_ns / self.site.period_ns.max(1) + 1).min(self.site.events - 1);
        for number in self.first_unseen as u64..=next {
            if self.seen_ns[number as usize].is_some() {
                continue;
            }
            match fs::symlink_metadata(self.site.name(number)) {
                Ok(_) if come => self.see(number),
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    self.count("failed_looks");
                }
                Err(_) if !come => self.see(number),
                _ => {}
            }
        }
    }
}

/// More than a version has.
fn begin_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Work for Looking {
    fn run<C: Clock>(&mut self, clock: &C, _arrival: &Due, _: &mut Bench) -> Result<u64, Fault> {
        self.look()?;
        self.looked_ns = clock.now_ns();
        Ok(self.looked_ns)
    }

    fn is_stopped(&self) -> bool {
        match self.has_versions() {
            true => self.newest.is_some_and(|newest| newest + 1 == self.site.events),
            false => self.first_unseen == self.seen_ns.len(),
        }
    }

    /// What was not seen is kept with the time for which it was looked for: it may not make a candidate faster. A version
    /// is outdated until it, or a newer one, is seen.
    fn settle<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        let end_ns = clock.now_ns();
        self.site.gate.pass()?;
        let (mut spans, mut newer_ns, error_ns) = (Vec::new(), None, self.site.among.error_ns);
        for (number, told_ns) in self.site.told()?.into_iter().enumerate().rev() {
            let seen_ns = self.seen_ns.get(number).copied().flatten();
            if seen_ns.is_some_and(|seen_ns| seen_ns.saturating_add(error_ns) < told_ns) {
                self.count("seen_too_early");
                continue;
            }
            self.count(match (seen_ns, newer_ns) {
                (Some(_), _) => "seen",
                (None, Some(_)) => "versions_skipped",
                (None, None) => "not_seen",
            });
            let first_ns = seen_ns.or(newer_ns);
            spans.push((told_ns, first_ns.unwrap_or(self.looked_ns).max(told_ns)));
            newer_ns = first_ns.filter(|_| self.has_versions());
        }
        spans.reverse();
        self.note = keep(bench, OpIndex(0), &spans, error_ns);
        Ok(end_ns)
    }
}

#[cfg(test)]
mod tests {
    use pickfs_record::{OpRecord, RecorderOptions, recorder, trial::Among};

    use super::*;
    use crate::{phase::Gate, shared::record::write_words};

    fn site(folder: &std::path::Path, events: u64) -> Site {
        let among = Among { host: 1, hosts: 2, leads: true, offset_ns: 0, error_ns: 0 };
        let (folder, gate) = (folder.to_owned(), Gate::default());
        Site { folder, lane: 1, among, gate, period_ns: 1, events }
    }

    #[test]
    fn an_older_version_after_a_newer_one_is_counted_and_moves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CURRENT);
        let mut looking = Looking::new(site(folder.path(), 9), Sign::Current);
        looking.look().unwrap();
        assert_eq!(looking.counts, BTreeMap::from([("failed_looks", 1)]), "it is not there");
        for version in [0, 3, 3, 1, 0, 4] {
            write_words(&path, &[version]).unwrap();
            looking.look().unwrap();
        }
        fs::write(&path, b"half").unwrap();
        looking.look().unwrap();
        let counted = [("failed_looks", 1), ("older_after_newer", 2), ("torn_looks", 1)];
        assert_eq!((looking.counts, looking.newest), (BTreeMap::from(counted), Some(3)));
        assert_eq!(looking.seen_ns.iter().flatten().count(), 2);
    }

    /// What is kept where each of nine is told to have begun then.
    fn settled(looking: &mut Looking, told_ns: u64) -> OpRecord {
        let ops = vec!["seen".into()];
        let (operations, keeper) =
            recorder(&RecorderOptions { ops, responses: false, spikes_max: 0 });
        let mut bench = Bench::new(operations, false, None);
        looking.site.tell(&[told_ns; 9]).unwrap();
        looking.settle(&MonotonicClock, &mut bench).unwrap();
        keeper.finish(bench.into_recorder().finish()).remove(0)
    }

    #[test]
    fn a_version_is_outdated_until_it_or_a_newer_one_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        write_words(&folder.path().join(CURRENT), &[9]).unwrap();
        let mut looking = Looking::new(site(folder.path(), 9), Sign::Current);
        looking.look().unwrap();
        let op = settled(&mut looking, MonotonicClock.now_ns().saturating_sub(10_000_000_000));
        assert_eq!(looking.counts, BTreeMap::from([("seen", 1), ("versions_skipped", 8)]));
        assert_eq!(op.service.count, 9);
        assert!(op.service.quantile(0.1).unwrap().value_ns > 9_000_000_000, "{op:?}");
    }

    #[test]
    fn a_name_that_was_never_there_is_not_seen_to_go() {
        let folder = tempfile::tempdir().unwrap();
        let mut looking = Looking::new(site(folder.path(), 9), Sign::Names { come: false });
        while !looking.is_stopped() {
            looking.look().unwrap();
        }
        let op = settled(&mut looking, MonotonicClock.now_ns() + 1_000_000_000);
        assert_eq!(looking.counts, BTreeMap::from([("seen_too_early", 9)]));
        assert_eq!(op.service.count, 0);
    }
}
