use crate::lab_session::may_run;
use crate::pickfs::{folder, only_run, pickfs, record, typed};
use pickfs_record::{PhaseRecord, phase::Heat};
use pickfs_testkit::only_if;

#[test]
fn cold_rows_of_two_lanes_are_cold_on_a_fresh_file_system() {
    only_if!(may_run(&["mkfs.ext4"]));
    let (_kept, out) = folder();
    let line = format!(
        "run column-tiny --fs ext4 --blocks 1 --size 512MiB --raw-probe 50ms --set lanes=2 --set threads=2 \
         --set files_limit=250MiB --set random_variants=no --out {}",
        out.display()
    );
    let said = pickfs(&typed(&line));
    let trial = record(&only_run(&out)).trials.swap_remove(0);
    let cold = trial.phases.iter().filter(|phase| phase.heat == Some(Heat::Cold));
    let lanes = |phase: &PhaseRecord| if phase.phase.starts_with("query") { 1 } else { 2 };
    let cold: Vec<_> =
        cold.inspect(|phase| assert_eq!(phase.lanes, lanes(phase), "{}", phase.phase)).collect();
    assert!(cold.len() > 5, "{} cold rows: {said:?}", cold.len());
    for phase in cold {
        let is_warm = phase.flags.iter().any(|flag| flag.kind == "not-cold");
        assert!(phase.is_finished() && !is_warm, "{}: {:?}", phase.phase, phase.flags);
    }
}
