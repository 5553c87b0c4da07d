//! With all that the program adds to the core.

use pickfs_lab::{
    plan_file::read_plan,
    plans::{PLANS, TOUR, built_in},
    preflight::preflight,
};

#[test]
fn every_built_in_plan_is_a_good_plan_of_its_own_name() {
    pickfs_engine_workloads::add();
    pickfs_lab::engines::add(&pickfs_guest::trials::Qemu);
    for plan in PLANS {
        let read = read_plan(plan.name, plan.text).expect("a good plan");
        assert_eq!(read.name, plan.name);
        preflight(&read).expect("its workload and parameters are known");
    }
    assert!(TOUR.1.iter().all(|stop| built_in(stop).is_some()));
}
