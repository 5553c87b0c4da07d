//! With all that the program adds to the core.

use pickfs_lab::{
    plans::{PLANS, TOUR, built_in},
    preflight::preflight,
};

#[test]
fn every_built_in_plan_is_a_good_plan_of_its_own_name() {
    pickfs_engine_workloads::add();
    pickfs_lab::engines::add(&pickfs_guest::trials::Qemu);
    for plan in PLANS {
        let read = plan.read().expect("a good plan");
        assert_eq!(read.name, plan.name);
        preflight(&read).expect("its workload and parameters are known");
    }
    assert!(TOUR.1.iter().all(|stop| built_in(stop).is_some()));
}

#[test]
fn the_parameters_of_a_plans_workload_are_listed() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pickfs"))
        .args(["plan", "files", "--parameters"])
        .output()
        .expect("pickfs starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let known = pickfs_workload::find("files").expect("files").params;
    assert_eq!(text.lines().count(), known.len(), "{text}");
    assert!(text.contains("fsync = closing (one of closing, each): "), "{text}");
}
