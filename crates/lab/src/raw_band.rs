//! The raw probe before a trial, held against those before it: the backing should be as it usually is
//! (validity rules 4 and 12).

use std::collections::VecDeque;

use pickfs_model::{TrialRecord, record::RawProbe};
use pickfs_target::TargetError;

use crate::{doubts, interrupt::Interrupt};

/// A raw probe may be this many times its usual median, or this many times under it.
const RAW_BAND: f64 = 1.5;
/// Probes that make the usual median.
const RAW_BAND_PROBES: usize = 9;
/// Probes that are taken until one lies in the band.
const RAW_TRIES: u32 = 3;

/// Medians of the latest raw probes: the band that the next one is held against.
#[derive(Debug, Default)]
pub struct RawBand(VecDeque<u64>);

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
        self.0.push_back(raw.p50_ns);
        if self.0.len() > RAW_BAND_PROBES {
            self.0.pop_front();
        }
        record.raw = Some(raw);
        Ok(())
    }
}

fn median(values: &VecDeque<u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = values.iter().copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().filter(|_| sorted.len() >= 3)
}

fn in_band(raw: &RawProbe, usual_ns: Option<u64>) -> bool {
    usual_ns.is_none_or(|usual_ns| {
        let ratio = raw.p50_ns as f64 / usual_ns.max(1) as f64;
        (1.0 / RAW_BAND..=RAW_BAND).contains(&ratio)
    })
}
