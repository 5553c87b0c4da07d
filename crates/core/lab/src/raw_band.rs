//! The raw probe before a trial, held against those before it: the backing should be as it usually is
//! (validity rules 4 and 12).

use pickfs_candidate::TargetError;
use pickfs_record::{TrialRecord, record::RawProbe};

use crate::{doubts, interrupt::Interrupt};

/// A raw probe may be this many times its usual median, or this many times under it.
const RAW_BAND: f64 = 1.5;
const RAW_BAND_PROBES: usize = 3;
/// Probes that are taken until one lies in the band.
const RAW_TRIES: u32 = 3;

/// Medians of all raw probes so far: the band that the next one is held against. It does not follow some that
/// were out of it.
#[derive(Debug, Default)]
pub struct RawBand(Vec<u64>);

impl RawBand {
    /// Probes until the backing is as it usually is, or gives up and says so.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn probe(
        &mut self,
        seconds: f64,
        record: &mut TrialRecord,
        interrupt: &Interrupt,
        probe: &mut dyn FnMut(f64) -> Result<RawProbe, TargetError>,
    ) -> Result<(), TargetError> {
        if seconds <= 0.0 {
            return Ok(());
        }
        let usual_ns = median(&self.0);
        let mut probes = 0;
        let raw = loop {
            let raw = probe(seconds)?;
            probes += 1;
            if probes == RAW_TRIES || in_band(&raw, usual_ns) || interrupt.is_raised() {
                break raw;
            }
        };
        if let Some(settle) = &mut record.settle {
            settle.raw_probes = probes;
        }
        doubts::raw_band(record, &raw, usual_ns, in_band(&raw, usual_ns));
        self.0.push(raw.p50_ns);
        record.raw = Some(raw);
        Ok(())
    }
}

fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().filter(|_| sorted.len() >= RAW_BAND_PROBES)
}

fn in_band(raw: &RawProbe, usual_ns: Option<u64>) -> bool {
    usual_ns.is_none_or(|usual_ns| {
        let ratio = raw.p50_ns as f64 / usual_ns.max(1) as f64;
        (1.0 / RAW_BAND..=RAW_BAND).contains(&ratio)
    })
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;

    /// A device that was slow for a while is as usual when it is fast again.
    #[test]
    fn the_band_does_not_follow_its_outliers() {
        let (mut band, interrupt) = (RawBand::default(), Interrupt::default());
        let mut is_out = |p50_ns: u64| {
            let mut record = fake_run(&FakeRun::default()).trials.remove(0);
            record.flags.clear();
            let mut probe = |_: f64| Ok(RawProbe { count: 9, p50_ns, ..RawProbe::default() });
            band.probe(1.0, &mut record, &interrupt, &mut probe).expect("a probe");
            record.flags.iter().any(|flag| flag.kind == "raw-out-of-band")
        };
        for (probes, p50_ns, is_expected) in
            [(20, 100, false), (9, 500, true), (3, 110, false), (1, 40, true)]
        {
            assert!((0..probes).all(|_| is_out(p50_ns) == is_expected), "{p50_ns}");
        }
    }
}
