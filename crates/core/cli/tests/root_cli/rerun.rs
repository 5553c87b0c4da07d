use std::{collections::BTreeSet, path::Path};

use crate::pickfs::{folder, only_run, pickfs, record, stored, typed};
use pickfs_record::RunRecord;
use pickfs_store::{RunFile, reduced};
use pickfs_testkit::{may_run, only_if};

fn seven_blocks_elsewhere(run: &RunRecord) -> RunRecord {
    let mut long = RunRecord { trials: Vec::new(), ended: None, ..run.clone() };
    long.environment.put("kernel.release", "5.0-other");
    for block in 1..=7 {
        for trial in &run.trials {
            let mut trial = trial.clone();
            (trial.number, trial.block) = (long.trials.len() as u32 + 1, block);
            let cell = run.cells.iter().find(|cell| cell.id == trial.cell).unwrap();
            let factor = if cell.candidate.fs == "ext2" { 2 } else { 1 };
            // However busy this machine was: nobody took the CPU, each call was due when it began, and the rate was held.
            for op in &mut trial.ops {
                let times = [Some(&mut op.service), op.response.as_mut(), op.raw_response.as_mut()];
                for row in times.into_iter().flatten().flat_map(|time| &mut time.quantiles) {
                    row.value_ns = 200_000 * factor + u64::from(block);
                    row.episodes = 50;
                }
            }
            trial.flags.clear();
            trial.disturbance = None;
            if let Some(load) = &mut trial.load {
                load.achieved_per_s = load.asked_per_s.unwrap_or(load.achieved_per_s);
                load.missed = 0;
            }
            long.trials.push(trial);
        }
    }
    long
}

/// All but who ran it where.
fn reduced_it_shows_the_same(run: &Path) {
    let (_kept, out) = folder();
    let words = format!("report {} --format run --out {}", run.display(), out.display());
    let said = pickfs(&typed(&words));
    assert_eq!(said.code, Some(0), "{said:?}");
    let mut whole = record(run);
    let copy = RunFile::open(&out.join("quick.pickfs")).and_then(|file| file.read()).unwrap();
    assert_eq!(copy, reduced(&whole).unwrap());
    whole.plan.typed.clone_from(&copy.plan.typed);
    for (trial, own) in whole.trials.iter_mut().zip(&copy.trials) {
        trial.disturbance.clone_from(&own.disturbance);
    }
    assert!(pickfs_analysis::findings(&whole) == pickfs_analysis::findings(&copy));
}

/// One block carries no claim: the earlier choice can no longer be told, and the program says so.
#[test]
fn a_plan_is_run_again_and_its_choices_are_judged() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_kept, folder) = folder();
    let (first, again) = (folder.join("first"), folder.join("again"));
    let words = format!(
        "run quick --fs ext4 --fs ext2 --size 256MiB --blocks 1 --measure 200ms --warmup 100ms \
         --raw-probe 100ms --out {}",
        first.display()
    );
    let said = pickfs(&typed(&words));
    assert_eq!(said.code, Some(4), "one block decides nothing: {said:?}");
    reduced_it_shows_the_same(&only_run(&first));
    let earlier = seven_blocks_elsewhere(&record(&only_run(&first)));
    let before = stored(&folder, "before", &earlier);
    let said = pickfs(&["run", "--again", &before, "--out", again.to_str().unwrap()]);
    assert_eq!(said.code, Some(4), "one block decides nothing: {said:?}");
    assert!(said.out.contains(" 5.0-other -> "), "{}", said.out);
    assert!(said.out.contains("CANNOT TELL  sync=fdatasync: "), "{}", said.out);
    assert!(said.out.contains("ext2 / ext4"), "then and now stand beside each other: {}", said.out);
    let now = record(&only_run(&again));
    let mut plan = now.plan.clone();
    plan.design.seed = earlier.plan.design.seed;
    assert_eq!(plan, earlier.plan, "all but the seed is the same");
    assert_ne!(plan, now.plan, "another order, by a seed of its own");
    let named = folder.join("named");
    pickfs(&["run", "--again", &before, "--out", named.to_str().unwrap(), "--seed", "77"]);
    assert_eq!(record(&only_run(&named)).plan.design.seed, 77);
    let cells: BTreeSet<_> = now.trials.iter().map(|trial| &trial.cell).collect();
    assert_eq!(cells.len(), 4, "ext4 and ext2, with and without sync");
}
