//! Nothing is written between a trial and the end of the wait after it: a commit of the run's file
//! is a write on the same disk (validity rule 12).

use std::path::PathBuf;

use pickfs_lab::{
    interrupt::Interrupt,
    referee::FixedBlocks,
    run::{RunParts, carry_out},
    stage::{Stage, TrialOrder},
};
use pickfs_record::{Event, RunRecord, TrialRecord, record::SettleRecord};
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, fake_run};

struct Watched {
    script: RunRecord,
    path: PathBuf,
    made: usize,
    at_settle: Vec<(usize, usize)>,
    at_trial: Vec<(usize, usize)>,
}

impl Watched {
    fn made_and_stored(&self) -> (usize, usize) {
        let stored = RunFile::open(&self.path).expect("open").read().expect("read");
        (self.made, stored.trials.len())
    }
}

impl Stage for Watched {
    fn now_s(&self) -> f64 {
        self.made as f64
    }

    fn settle(&mut self) -> SettleRecord {
        self.at_settle.push(self.made_and_stored());
        SettleRecord::default()
    }

    fn perform(&mut self, order: &TrialOrder<'_>, _tell: &mut dyn FnMut(Event)) -> TrialRecord {
        self.at_trial.push(self.made_and_stored());
        self.made += 1;
        let like = self.script.trials.iter().find(|trial| trial.cell == order.cell.id);
        let like = like.expect("a trial of the cell").clone();
        TrialRecord { number: order.number, block: order.block, attempt: order.attempt, ..like }
    }
}

#[test]
fn a_trial_is_stored_after_the_wait_and_before_the_next_trial() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.pickfs");
    let script = fake_run(&FakeRun { blocks: 1, ..FakeRun::default() });
    let empty = RunRecord { trials: vec![], ended: None, ..script.clone() };
    let mut file = RunFile::create(&path, &empty).expect("create");
    let mut stage = Watched { script, path, made: 0, at_settle: vec![], at_trial: vec![] };
    let parts = RunParts {
        stage: &mut stage,
        file: &mut file,
        sink: &mut |_: &Event| {},
        referee: &mut FixedBlocks(2),
        interrupt: &Interrupt::default(),
        disturbed: |_| false,
    };
    let run = carry_out(empty, parts).expect("runs");
    assert!(run.trials.len() > 4);
    let behind = |(made, stored): &(usize, usize)| *made == 0 || made - stored == 1;
    assert!(stage.at_settle.iter().all(behind), "{:?}", stage.at_settle);
    assert!(stage.at_trial.iter().all(|(made, stored)| made == stored), "{:?}", stage.at_trial);
    assert_eq!(file.read().expect("read").trials.len(), run.trials.len());
}
