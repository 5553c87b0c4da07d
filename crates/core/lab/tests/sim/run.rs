use std::{collections::BTreeSet, path::Path};

use pickfs_lab::{
    interrupt::Interrupt,
    referee::{FixedBlocks, Referee, Ruling},
};
use pickfs_record::{Event, Outcome, RunRecord};
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, fake_run};

use super::{Script, disturbed, empty, play};

fn fake() -> RunRecord {
    fake_run(&FakeRun { blocks: 1, ..FakeRun::default() })
}

fn played(path: &Path, blocks: u32, script: &mut Script) -> (RunRecord, Vec<Event>) {
    let record = match path.exists() {
        true => RunFile::open(path).and_then(|file| file.read()).expect("read"),
        false => empty(&fake()),
    };
    script.run = Some(fake());
    play(path, record, &mut FixedBlocks(blocks), script)
}

fn run_with(mut script: Script, blocks: u32) -> (tempfile::TempDir, RunRecord, Vec<Event>, Script) {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, events) = played(&folder.path().join("r.pickfs"), blocks, &mut script);
    (folder, run, events, script)
}

fn lefts(events: &[Event]) -> Vec<f64> {
    let left = |event: &Event| match event {
        Event::TrialFinished { left_s, .. } => Some(*left_s),
        _ => None,
    };
    events.iter().filter_map(left).collect()
}

fn stored(folder: &tempfile::TempDir) -> RunRecord {
    RunFile::open(&folder.path().join("r.pickfs")).expect("open").read().expect("read")
}

#[test]
fn every_cell_runs_once_a_block_and_all_is_stored() {
    let (folder, run, events, script) = run_with(Script::default(), 3);
    let cells = run.cells.len();
    assert_eq!(run.trials.len(), 3 * cells);
    for block in 1..=3 {
        let own = run.trials.iter().filter(|trial| trial.block == block);
        assert_eq!(own.map(|trial| &trial.cell).collect::<BTreeSet<_>>().len(), cells);
    }
    assert_eq!(stored(&folder).trials.len(), 3 * cells);
    assert_eq!(stored(&folder).ended.expect("ended").how, "completed");
    let seeds: BTreeSet<_> = script.seeds.iter().collect();
    assert_eq!(seeds.len(), 3, "one seed a block, shared by its cells");
    let headlines = events.iter().filter_map(|event| match event {
        Event::TrialFinished { headline, .. } => Some(headline.as_ref().expect("a value")),
        _ => None,
    });
    let is_asked = |metric| run.plan.design.primary.contains(metric);
    assert!(headlines.clone().all(|headline| is_asked(&headline.metric) && headline.value > 0.0));
    let lefts = lefts(&events);
    assert!(lefts.windows(2).all(|pair| pair[1] <= pair[0] + 1e-6) && lefts.last() == Some(&0.0));
}

#[test]
fn a_disturbed_trial_is_repeated_once_and_both_are_kept() {
    let (_, run, _, _) = run_with(Script { disturbed: vec![2, 9], ..Script::default() }, 1);
    let cells = run.cells.len();
    assert_eq!(run.trials.len(), cells + 1);
    let again = run.trials.last().expect("a trial");
    assert_eq!((again.attempt, &again.cell), (2, &run.trials[1].cell));
    assert!(disturbed(again), "disturbed again, and still not repeated a second time");
}

#[test]
fn after_two_blocks_that_others_disturbed_the_run_stops_and_names_them() {
    let (folder, run, _, _) =
        run_with(Script { disturbed_blocks: vec![2, 3], ..Script::default() }, 9);
    assert_eq!(run.trials.last().expect("a trial").block, 3);
    let end = stored(&folder).ended.expect("ended");
    assert_eq!(end.how, "disturbed");
    let said = "others (rustc 0.9 CPUs, ld 0.3 CPUs) took the CPU in every trial of blocks 2 and 3; \
                run it again when they are quiet";
    assert_eq!(end.note, said);
    let found = pickfs_analysis::findings(&run).endings;
    assert!(found.iter().all(|end| end.end == pickfs_record::finding::AnswerEnd::NoAnswer));
    assert!(found[0].sentence.contains("rustc 0.9 CPUs"), "{found:?}");
    assert!(!found[0].cure.as_ref().expect("a command").command.contains("--resume"));
    let (_, calm, ..) = run_with(Script { disturbed_blocks: vec![1, 3], ..Script::default() }, 4);
    assert_eq!(calm.ended.expect("ended").how, "completed");
    let (_, whole, ..) = run_with(Script { disturbed_blocks: vec![2, 3], ..Script::default() }, 3);
    assert_eq!(whole.ended.expect("ended").how, "completed", "it has all its blocks");
}

#[test]
fn the_time_left_counts_repeats_as_part_of_the_trials_to_come() {
    let left_after_block = |disturbed: Vec<u32>| {
        let (_, run, events, _) = run_with(Script { disturbed, ..Script::default() }, 2);
        let last = run.trials.iter().filter(|trial| trial.block == 1).count();
        lefts(&events)[last - 1]
    };
    let cells = fake().cells.len() as u32;
    let (calm, busy) = (left_after_block(vec![]), left_after_block((1..=cells).collect()));
    assert!(busy > 1.8 * calm, "{busy} s beside {calm} s");
}

#[test]
fn an_interrupted_run_keeps_what_it_has_and_resumes_in_a_new_block() {
    let (folder, run, _, mut script) =
        run_with(Script { stop_at: Some(11), ..Script::default() }, 3);
    assert_eq!((run.trials.len(), stored(&folder).trials.len()), (11, 11));
    assert_eq!(stored(&folder).ended.expect("ended").how, "interrupted");
    script.interrupt = Interrupt::default();
    let (resumed, _) = played(&folder.path().join("r.pickfs"), 3, &mut script);
    let blocks: Vec<u32> = resumed.trials[11..].iter().map(|trial| trial.block).collect();
    let cells = run.cells.len();
    assert_eq!(blocks, [vec![3; cells], vec![4; cells]].concat(), "block 2 stays incomplete");
    assert_eq!(resumed.trials.last().expect("a trial").number, 11 + 2 * cells as u32);
    assert_eq!(stored(&folder).ended.expect("ended").how, "completed");
}

#[test]
fn a_mount_that_stays_ends_the_run() {
    let (folder, run, _, _) = run_with(Script { sticks_at: Some(4), ..Script::default() }, 3);
    assert_eq!((run.trials.len(), stored(&folder).trials.len()), (4, 4));
    let end = stored(&folder).ended.expect("ended");
    assert_eq!(end.how, "failed");
    assert!(end.note.starts_with("unmount mnt: busy"), "{}", end.note);
}

#[test]
fn a_failed_trial_is_a_row_the_run_goes_on_and_its_end_says_what_gave_no_result() {
    let (folder, run, _, _) = run_with(Script { fails: vec![3], ..Script::default() }, 1);
    let cells = run.cells.len() as u32;
    assert_eq!(run.trials.len() as u32, cells);
    assert_eq!(stored(&folder).trials[2].outcome, Outcome::Failed { reason: "scripted".into() });
    let end = run.ended.expect("ended");
    assert_eq!(end.how, "completed");
    assert!(end.note.contains(&format!("1 of {cells} trials gave no result")), "{}", end.note);
    let all = Script { fails: (1..=cells).collect(), ..Script::default() };
    let (_, run, _, _) = run_with(all, 1);
    assert_eq!(run.ended.expect("ended").how, "failed");
}

/// Gives the seconds that it was told up to each block.
struct Stopwatch(FixedBlocks, Vec<f64>);

impl Referee for Stopwatch {
    fn rule(&mut self, run: &RunRecord, block: u32, elapsed_s: f64) -> Ruling {
        self.1.push(elapsed_s);
        self.0.rule(run, block, elapsed_s)
    }

    fn blocks_max(&self) -> u32 {
        self.0.blocks_max()
    }
}

#[test]
fn a_resumed_run_has_spent_what_it_spent_before() {
    let (folder, run, _, mut script) =
        run_with(Script { stop_at: Some(11), ..Script::default() }, 3);
    let spent_s = run.trials.iter().map(|t| t.started_s + t.elapsed_s).fold(0.0, f64::max);
    script.interrupt = Interrupt::default();
    let mut stopwatch = Stopwatch(FixedBlocks(3), Vec::new());
    let path = folder.path().join("r.pickfs");
    let (resumed, _) = play(&path, run, &mut stopwatch, &mut script);
    assert!((stopwatch.1[0] - spent_s).abs() < 1e-9, "{:?} after {spent_s}", stopwatch.1);
    let starts: Vec<f64> = resumed.trials.iter().map(|trial| trial.started_s).collect();
    assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]), "{starts:?}");
}

/// A commit of the run's file is a write on the same disk (validity rule 12).
#[test]
fn a_trial_is_stored_after_the_wait_and_before_the_next_trial() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.pickfs");
    let mut script = Script { looks_at: Some(path.clone()), ..Script::default() };
    let (run, _) = played(&path, 2, &mut script);
    assert!(run.trials.len() > 4);
    let behind = |(made, stored): &(usize, usize)| *made == 0 || made - stored == 1;
    assert!(script.at_settle.iter().all(behind), "{:?}", script.at_settle);
    assert!(script.at_trial.iter().all(|(made, stored)| made == stored), "{:?}", script.at_trial);
    assert_eq!(stored(&folder).trials.len(), run.trials.len());
}
