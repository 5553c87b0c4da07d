use std::path::{Path, PathBuf};

use super::{
    fitting::{self, Fitted},
    interrupt,
    lane::Lane,
    many_files, new_names, one_file,
    phases::Phase,
    rand::CRand,
    renaming, saving,
    settings::Settings,
};
use crate::{
    fault::Fault,
    measurement::Measured,
    phase::PhaseRunner,
    workload::{Prepared, Session},
};

pub(super) struct Ready {
    settings: Settings,
    fitted: Fitted,
    checked: u64,
}

impl Ready {
    /// Looks at the file system; makes nothing.
    pub(super) fn new(session: &Session) -> Result<Ready, Fault> {
        let spec = &session.spec;
        let mut settings = Settings::new(&session.params, spec.seed, spec.lane);
        let fitted = fitting::fit(&mut settings, &spec.directory, spec.lanes)?;
        Ok(Ready { settings, fitted, checked: 0 })
    }

    fn run_all(&mut self, session: &Session, runner: &mut PhaseRunner) -> Result<(), Fault> {
        let mut lane = Lane {
            settings: &self.settings,
            runner,
            fitted: &self.fitted,
            stream: CRand::new(self.settings.seed),
            checked: 0,
            may_drop_caches: session.spec.drop_caches,
        };
        one_file::run(&mut lane)?;
        many_files::run(&mut lane)?;
        let (settings, has_files) = (&self.settings, self.settings.spread.files > 0);
        if settings.has_further && has_files {
            new_names::make_directories(&mut lane)?;
            renaming::run(&mut lane)?;
        }
        if settings.has_further && settings.saves > 0 {
            new_names::sync_directory(&mut lane)?;
            saving::run(&mut lane)?;
        }
        self.checked = lane.checked;
        Ok(())
    }
}

impl Prepared for Ready {
    fn notes(&self) -> Vec<String> {
        self.fitted.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        interrupt::listen()?;
        let mut runner = PhaseRunner::new(session)?;
        let directory = OwnDirectory(runner.directory().to_owned());
        let ran = self.run_all(session, &mut runner);
        drop(directory);
        if ran.is_err() {
            session.gate.break_open();
        }
        ran.map(|()| runner.finish())
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(self.checked)
    }
}

/// The lane's directory: it goes when it is empty, and stays while somebody else has something in it.
struct OwnDirectory(PathBuf);

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let path: &Path = &self.0;
        let _ = rustix::fs::rmdir(path);
    }
}

pub(super) fn ops(settings: &Settings) -> Vec<String> {
    Phase::asked(settings).into_iter().flat_map(|phase| names(phase, settings)).collect()
}

/// The phase's own name, which carries its rate, and those of its kinds of operation.
fn names(phase: Phase, settings: &Settings) -> Vec<String> {
    let mut names = vec![phase.word().to_owned()];
    names.extend(phase.spec(settings).ops().into_iter().filter(|op| op != phase.word()));
    names
}
