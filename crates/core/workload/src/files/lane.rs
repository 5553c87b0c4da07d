use std::path::PathBuf;

use pickfs_sys::residency::ResidentPages;

use super::{
    fitting::Fitted,
    interrupt,
    phases::Phase,
    rand::CRand,
    settings::Settings,
    watch::{Original, Watch, cpu_ns},
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench, PhaseRunner},
};

pub(super) struct Lane<'a> {
    pub(super) settings: &'a Settings,
    pub(super) runner: &'a mut PhaseRunner,
    pub(super) fitted: &'a Fitted,
    pub(super) stream: CRand,
    /// Chunks and files that were compared with what must be in them.
    pub(super) checked: u64,
    pub(super) may_drop_caches: bool,
}

impl Lane<'_> {
    /// Times `work` on what was prepared, and lets go of what it gives back behind it; gives whether
    /// all went well. A fault of the preparation is the phase's.
    pub(super) fn run<T, U>(
        &mut self,
        phase: Phase,
        prepared: Result<T, Fault>,
        work: impl FnOnce(T, &mut Watch) -> Result<(Done, U), Fault>,
    ) -> Result<bool, Fault> {
        self.run_checked(phase, prepared, work, |_| Ok(0))
    }

    /// `check` gives how much it has compared.
    pub(super) fn run_checked<T, U>(
        &mut self,
        phase: Phase,
        prepared: Result<T, Fault>,
        work: impl FnOnce(T, &mut Watch) -> Result<(Done, U), Fault>,
        check: impl FnOnce(U) -> Result<u64, Fault>,
    ) -> Result<bool, Fault> {
        let kinds = phase.kinds(self.settings);
        let mut checked = 0;
        let ran = self.run_threads(phase, |bench| {
            let prepared = prepared?;
            bench.span_begins();
            let before_ns = cpu_ns();
            let mut watch = Watch::new(bench, &kinds);
            let (done, left) = work(prepared, &mut watch)?;
            let original = Original { cpu_ns: cpu_ns() - before_ns, ..watch.original };
            bench.span_ends();
            checked = check(left)?;
            Ok((done, original))
        })?;
        self.checked += checked;
        Ok(ran)
    }

    /// For work that splits its bench.
    pub(super) fn run_threads(
        &mut self,
        phase: Phase,
        work: impl FnOnce(&mut PhaseBench) -> Result<(Done, Original), Fault>,
    ) -> Result<bool, Fault> {
        let mut found = None;
        let ran = self.runner.run_or_tell(&phase.spec(self.settings), |bench| {
            let (done, original) = work(bench)?;
            found = Some(original);
            Ok(done)
        })?;
        interrupt::check()?;
        let last = self.runner.phases().last().map(|phase| phase.elapsed_ns);
        if let (true, Some(original), Some(elapsed_ns)) = (ran, found, last) {
            self.runner.value_last("latency_max_ns", original.slowest_ns as f64);
            let percent = 100.0 * original.cpu_ns as f64 / elapsed_ns.max(1) as f64;
            self.runner.value_last("cpu_percent_original", percent.trunc());
        }
        Ok(ran)
    }

    /// Where others make their caches cold, so does it.
    pub(super) fn skip(&mut self, phase: Phase, reason: &str) -> Result<(), Fault> {
        self.make_cold(phase, &[])?;
        self.runner.skip(&phase.spec(self.settings), reason)?;
        interrupt::check()
    }

    pub(super) fn skip_all(&mut self, phases: &[Phase], reason: &str) -> Result<(), Fault> {
        phases.iter().try_for_each(|phase| self.skip(*phase, reason))
    }

    pub(super) fn make_cold(
        &mut self,
        phase: Phase,
        files: &[PathBuf],
    ) -> Result<Option<ResidentPages>, Fault> {
        if !phase.is_cold(self.settings) {
            return Ok(None);
        }
        interrupt::check()?;
        self.runner.make_cold(files).map(Some)
    }
}
