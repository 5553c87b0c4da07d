//! The lab chooses among the engines that this crate adds.
#![allow(clippy::unwrap_used)]

use pickfs_candidate::knob::{ENGINE, KERNEL, MEMORY};
use pickfs_guest::{Engine, trials::Qemu};
use pickfs_lab::{
    engines::{self, engine_of, name_of, settle_engines, tell_engines_apart},
    expand::{Expansion, expand},
    plan_file::read_plan,
    preflight::preflight,
};
use pickfs_record::Cell;

fn add() {
    engines::add(&Qemu);
}

fn expansion(candidates: &str, engine: &str) -> Expansion {
    add();
    let text = format!(
        "name = \"t\"\nquestion = \"?\"\ncandidates = [{candidates}]\nworkload = \"null\"\n\
         [params]\n\"guest.engine\" = \"{engine}\"\n\
         [design]\nblocks = 1\nreference = \"tmpfs\"\nprimary = []\n"
    );
    let plan = read_plan("t.toml", &text).expect("a good plan");
    let workload = pickfs_workload::find("null").expect("a workload");
    let ceiling = |_: &_| pickfs_record::Durability::PowerLoss;
    let mut expansion = expand(&plan, workload, ceiling).expect("expands");
    settle_engines(&plan, &mut expansion);
    expansion
}

#[test]
fn an_engine_that_is_asked_for_runs_every_cell() {
    let one = expansion("\"tmpfs\", \"ramfs\"", "qemu-tcg");
    let engines: Vec<_> = one.cells.iter().map(name_of).collect();
    assert_eq!(engines, ["qemu-tcg", "qemu-tcg"]);
    assert_eq!(one.cells[0].levels_text(), "");
    let native = expansion("\"tmpfs\"", "native");
    assert_ne!(one.cells[0].id, native.cells[0].id);
    assert!(native.cells[0].knobs.is_empty());
}

#[test]
fn a_kernel_of_its_own_asks_for_a_guest() {
    add();
    let with = |engine: &str| {
        let text = format!(
            "name = \"t\"\nquestion = \"?\"\ncandidates = [\"tmpfs\"]\nworkload = \"null\"\n{engine}\
             [axes]\n\"guest.kernel\" = [\"5.10\", \"6.1\"]\n\
             [design]\nblocks = 1\ncompare = \"guest.kernel\"\nreference = \"6.1\"\nprimary = []\n"
        );
        let plan = read_plan("t.toml", &text).expect("a good plan");
        preflight(&plan)
    };
    let cells = with("").expect("guests run here").cells;
    let kernels: Vec<_> = cells.iter().map(|cell| cell.knobs[KERNEL].as_str()).collect();
    assert_eq!(kernels, ["5.10", "6.1"]);
    assert!(cells.iter().all(|cell| engine_of(cell).is_some()));
    assert_ne!(cells[0].id, cells[1].id);
    let native = "[params]\n\"guest.engine\" = \"native\"\n";
    let error = with(native).expect_err("refused").to_string();
    assert!(error.contains("guest.kernel is for guests"), "{error}");
}

#[test]
fn a_memory_of_its_own_asks_for_a_guest_and_means_nothing_here() {
    add();
    let of = |candidates: &str, engine: &str| {
        let text = format!(
            "name = \"t\"\nquestion = \"?\"\ncandidates = [{candidates}]\nworkload = \"null\"\n\
             [params]\n\"guest.memory_mib\" = 2048\n{engine}\n\
             [design]\nblocks = 1\nreference = \"tmpfs\"\nprimary = []\n"
        );
        preflight(&read_plan("t.toml", &text).expect("a good plan"))
            .map(|expansion| expansion.cells)
    };
    let away = of("\"tmpfs\", \"ramfs\"", "").expect("guests run here");
    assert!(away.iter().all(|cell| engine_of(cell).is_some() && cell.knobs[MEMORY] == "2048"));
    let here = of("\"tmpfs\", \"ramfs\"", "\"guest.engine\" = \"native\"").expect("runs");
    assert!(here.iter().all(|cell| cell.knobs.is_empty()), "{here:?}");
}

#[test]
fn what_no_kernel_of_an_engine_mounts_is_left_out_with_the_reason() {
    let left = expansion("\"tmpfs\", \"bcachefs\"", "qemu-tcg");
    assert_eq!(left.cells.len(), 1);
    assert!(!left.skipped[0].reason.is_empty() && !left.skipped[0].remedy.is_empty());
}

#[test]
fn cells_of_two_engines_never_share_a_panel_nor_do_two_accelerations() {
    let mut all = expansion("\"tmpfs\"", "native");
    all.cells.extend(expansion("\"tmpfs\", \"ramfs\"", "qemu-tcg").cells);
    let mut kvm = all.cells[1].clone();
    kvm.knobs.insert(ENGINE.into(), "qemu-kvm".into());
    all.cells.push(kvm);
    tell_engines_apart(&mut all);
    let levels: Vec<_> = all.cells.iter().map(Cell::levels_text).collect();
    let of = |engine: &str| format!("engine={engine}");
    assert_eq!(levels, ["native", "qemu-tcg", "qemu-tcg", "qemu-kvm"].map(of));
}

#[test]
fn qemu_is_kvm_where_that_is_proven_and_the_cell_says_which() {
    let proven = Engine::QemuKvm.obstacle().is_none();
    let expected = if proven { "qemu-kvm" } else { "qemu-tcg" };
    let cells = expansion("\"tmpfs\", \"ext4\"", "qemu").cells;
    let engines: Vec<_> = cells.iter().map(name_of).collect();
    assert_eq!(engines, [expected, expected]);
    assert_eq!(cells[0].knobs[ENGINE], expected);
}
