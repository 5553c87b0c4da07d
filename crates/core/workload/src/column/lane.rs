use std::path::{Path, PathBuf};

use pickfs_record::phase::Heat;
use pickfs_sys::{own_usage::OwnReads, residency::ResidentPages, vm_state::WritebackPages};

use super::{
    check::Replaced,
    conditions::{dirty_bytes, dirty_doubt, disk_bytes, read_ahead_kb},
    files::{Data, Files},
    params::Settings,
    room::Machine,
    rows::{Row, rows},
    sizes::Sizes,
    sync::{command_text, sync},
    table::Table,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench, PhaseRunner, PhaseSpec, resident},
};

pub(super) struct Lane {
    pub(super) runner: PhaseRunner,
    pub(super) settings: Settings,
    pub(super) sizes: Sizes,
    pub(super) files: Files,
    pub(super) data: Data,
    pub(super) machine: Machine,
    /// By the column's `Of`.
    pub(super) replaced: [Replaced; 6],
    pub(super) checked: u64,
    read_ahead_kb: Option<f64>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// In the unit of the row.
    pub(super) work: u64,
    pub(super) real_bytes: u64,
    /// All of the files is read, so that all of them must be in memory where the row is hot.
    pub(super) is_whole: bool,
}

pub(super) const IN_MEMORY: &str = "files of this mount are in memory and can never be cold";

/// One operation for each input. What a call gives is dropped within its operation.
pub(super) fn operations<I, T>(
    bench: &mut PhaseBench,
    inputs: impl Iterator<Item = I>,
    mut call: impl FnMut(I) -> Result<T, Fault>,
) -> Result<(), Fault> {
    for input in inputs {
        let start_ns = bench.now_ns();
        drop(call(input)?);
        let end_ns = bench.now_ns();
        bench.record(0, start_ns, end_ns, 0);
    }
    Ok(())
}

/// Keeps operations (begin, end, offset).
pub(super) fn keeping(bench: &mut PhaseBench) -> impl FnMut(u64, u64, u64) + use<'_> {
    |start_ns, end_ns, offset_bytes| bench.record(0, start_ns, end_ns, offset_bytes)
}

impl Lane {
    pub(super) fn new(
        runner: PhaseRunner,
        settings: Settings,
        sizes: Sizes,
        seed: u64,
        machine: Machine,
    ) -> Lane {
        let data = Data::new(settings.is_nano, settings.symbols, sizes, seed, runner.lane());
        Lane {
            files: Files::new(runner.directory()),
            rows: rows(&settings),
            read_ahead_kb: read_ahead_kb(runner.directory()),
            runner,
            settings,
            sizes,
            data,
            machine,
            replaced: Default::default(),
            checked: 0,
        }
    }

    pub(super) fn table(&self) -> Table {
        self.table_in(&self.files)
    }

    pub(super) fn table_in(&self, files: &Files) -> Table {
        let folder = files.table_folder();
        Table {
            symbols: folder.join("sym"),
            floats: folder.join("floatcol"),
            domain: files.at("kdbdb/sym"),
            layout: self.settings.symbols,
            threads: self.settings.threads as usize,
            set: self.settings.set,
        }
    }

    fn spec(&self, phase: &str) -> PhaseSpec {
        let row = self.rows.iter().find(|row| row.phase == phase);
        row.expect("a row of the table").spec(self.settings.threads)
    }

    /// `work` gives bytes as the original counts them, and real ones.
    pub(super) fn row(
        &mut self,
        phase: &str,
        work: impl FnOnce(&mut PhaseBench) -> Result<Done, Fault>,
    ) -> Result<(), Fault> {
        let spec = self.spec(phase);
        self.runner.run(&spec, work)
    }

    pub(super) fn skip(&mut self, phase: &str, reason: &str) -> Result<(), Fault> {
        let spec = self.spec(phase);
        self.runner.skip(&spec, reason)
    }

    /// Notes the limits of write-back too.
    pub(super) fn write_row(
        &mut self,
        phase: &str,
        dirty_bytes: u64,
        work: impl FnOnce(&mut PhaseBench) -> Result<Done, Fault>,
    ) -> Result<(), Fault> {
        let limits = WritebackPages::now();
        self.row(phase, work)?;
        self.keep_limits(&limits.unwrap_or_default(), dirty_bytes);
        Ok(())
    }

    /// Gives whether it was done.
    pub(super) fn row_if_possible(
        &mut self,
        phase: &str,
        work: impl FnOnce(&mut PhaseBench) -> Result<Done, Fault>,
    ) -> Result<bool, Fault> {
        let spec = self.spec(phase);
        let mut wrong = None;
        let is_done = self.runner.run_or_tell(&spec, |bench| {
            work(bench).inspect_err(|fault| {
                if let Fault::Wrong { what } = fault {
                    wrong = Some(what.clone());
                }
            })
        })?;
        wrong.map_or(Ok(is_done), |what| Err(Fault::Wrong { what }))
    }

    /// Notes the limits of write-back with the last row, and a doubt where all lanes stay below.
    pub(super) fn keep_limits(&mut self, limits: &WritebackPages, dirty_bytes: u64) {
        let bytes = |pages: u64| (pages * rustix::param::page_size() as u64) as f64;
        let background = bytes(limits.background_threshold_pages);
        self.runner.value_last("dirty_background_limit_bytes", background);
        self.runner.value_last("dirty_limit_bytes", bytes(limits.dirty_threshold_pages));
        let doubt = dirty_doubt(limits, dirty_bytes * u64::from(self.sizes.lanes));
        if let Some(text) = doubt.filter(|_| !self.machine.is_in_memory) {
            self.runner.flag_last("under-dirty-limit", text);
        }
    }

    /// `elements` is what the original multiplies with the length of its command.
    pub(super) fn sync_row(
        &mut self,
        phase: &str,
        paths: &[&Path],
        elements: u64,
        done: Done,
    ) -> Result<(), Fault> {
        let (dirty, by_command) = (dirty_bytes(paths), self.settings.syncs_by_command);
        self.row(phase, |_| sync(paths, by_command).map(|()| done))?;
        self.keep_value("dirty_before_bytes", dirty.map(|bytes| bytes as f64));
        self.keep_value("disk_bytes", disk_bytes(paths).map(|bytes| bytes as f64));
        if self.settings.has_inflated_sync {
            let elapsed_ns = self.runner.phases().last().map_or(1, |last| last.elapsed_ns);
            let letters = command_text(paths).len() as f64;
            let inflated = 8.0 * elements as f64 * letters * 1e9 / elapsed_ns.max(1) as f64;
            self.runner.value_last("inflated_rate_per_s", inflated);
        }
        Ok(())
    }

    fn keep_value(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.runner.value_last(name, value);
        }
    }

    /// Nothing of the mount may be open or mapped.
    pub(super) fn make_cold(&mut self, files: &[PathBuf]) -> Result<(), Fault> {
        if self.machine.is_in_memory {
            return self.runner.together();
        }
        self.runner.make_cold(files).map(drop)
    }

    /// What was resident before, and what had to be fetched, stand beside it.
    pub(super) fn read_row(
        &mut self,
        phase: &str,
        files: &[PathBuf],
        counted: Counted,
        work: impl FnOnce(&mut PhaseBench) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let spec = self.spec(phase);
        if spec.record.heat == Some(Heat::Cold) && self.machine.is_in_memory {
            return self.runner.skip(&spec, IN_MEMORY);
        }
        let resident = resident(files)?;
        let before = OwnReads::now();
        self.runner.run(&spec, |bench| {
            work(bench)?;
            let Counted { work, real_bytes, .. } = counted;
            Ok(Done { work: work as f64, real_bytes })
        })?;
        let fetched = OwnReads::now().since(&before);
        self.runner.value_last("resident_before_share", resident.share());
        self.runner.value_last("major_faults", fetched.major_faults as f64);
        self.keep_value("device_read_bytes", fetched.device_bytes.map(|bytes| bytes as f64));
        self.keep_value("read_ahead_kb", self.read_ahead_kb);
        match spec.record.heat {
            Some(Heat::Cold) if !resident.is_cold() => {
                let percent = 100.0 * resident.share();
                let text = format!("{percent:.1} % of its files were in memory when it began");
                self.runner.flag_last("not-cold", text);
            }
            Some(Heat::Hot) => {
                if let Some(text) = not_hot(&fetched, &resident, counted) {
                    self.runner.flag_last("not-hot", text);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn not_hot(fetched: &OwnReads, resident: &ResidentPages, counted: Counted) -> Option<String> {
    /// Pages of the program itself may be fetched, too.
    const PARDONED_BYTES: u64 = 64 << 10;
    let by_faults = fetched.major_faults * rustix::param::page_size() as u64;
    let bytes = fetched.device_bytes.unwrap_or(0).max(by_faults);
    if counted.is_whole && !resident.is_hot() {
        let percent = 100.0 * resident.share();
        return Some(format!("only {percent:.1} % of its files were in memory when it began"));
    }
    let (real_bytes, faults) = (counted.real_bytes, fetched.major_faults);
    (bytes > (real_bytes / 100).max(PARDONED_BYTES)).then(|| {
        format!(
            "{bytes} bytes had to be fetched while it read {real_bytes} ({faults} major faults)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_row_that_fetched_a_hundredth_is_in_doubt() {
        let fetched = |major_faults, device_bytes| OwnReads { major_faults, device_bytes };
        let resident = ResidentPages { resident_count: 10, page_count: 100 };
        let counted = Counted { work: 0, real_bytes: 100 << 20, is_whole: false };
        let doubt = |fetched| not_hot(&fetched, &resident, counted);
        assert_eq!(doubt(fetched(0, Some(1 << 20))), None);
        assert!(doubt(fetched(0, Some(1 << 21))).is_some());
        assert!(doubt(fetched(300, None)).unwrap().contains("300 major faults"));
        assert_eq!(doubt(fetched(1, None)), None);
        let whole = Counted { is_whole: true, ..counted };
        let text = not_hot(&fetched(0, None), &resident, whole).unwrap();
        assert!(text.contains("only 10.0 %"), "{text}");
    }
}
