use std::path::PathBuf;

use super::{
    fitting::Fitted, interrupt, original::Original, phases::Phase, rand::CRand, settings::Settings,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench, PhaseRunner, Residency},
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
    pub(super) fn run(
        &mut self,
        phase: Phase,
        work: impl FnOnce(&mut PhaseBench, &mut Original) -> Result<Done, Fault>,
    ) -> Result<bool, Fault> {
        let mut original = Original::default();
        let spec = phase.spec(self.settings);
        let ran = self.runner.run_or_tell(&spec, |bench| work(bench, &mut original))?;
        interrupt::check()?;
        if ran {
            original.tell(self.runner);
        }
        Ok(ran)
    }

    /// Where others make their caches cold, so does it.
    pub(super) fn skip(&mut self, phase: Phase, reason: &str) -> Result<(), Fault> {
        self.make_cold(phase, &[])?;
        self.runner.skip(&phase.spec(self.settings), reason)?;
        interrupt::check()
    }

    pub(super) fn make_cold(
        &mut self,
        phase: Phase,
        files: &[PathBuf],
    ) -> Result<Option<Residency>, Fault> {
        if !phase.is_cold(self.settings) {
            return Ok(None);
        }
        interrupt::check()?;
        self.runner.make_cold(files).map(Some)
    }

    pub(super) fn tell_residency(&mut self, residency: Option<Residency>) {
        let Some(residency) = residency else { return };
        self.runner.value_last("resident_share", residency.share());
        if residency.total_bytes == 0 {
            self.runner.flag_last("not-cold", "there was nothing to look at");
        } else if !residency.is_cold() {
            let percent = 100.0 * residency.share();
            let text = format!("{percent:.0} % of the file were still in memory");
            self.runner.flag_last("not-cold", text);
        }
    }
}
