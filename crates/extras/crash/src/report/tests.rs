use pickfs_record::Durability;
use pickfs_report::document::{markdown, terminal};

use super::*;
use crate::check::Found;
use crate::explore::{Explored, Exposure, Failure, Tally};
use crate::log::{Log, Position, What};

const ANY: &str = "power-loss:any-order/4096/honest";
const ORDERED: &str = "power-loss:ordered/4096/honest";

fn cell(candidate: &str, subject: &str, crash: &str, states: u64, lost: u64) -> Cell {
    let tally = Tally { lost, failed: lost, ..Tally::default() };
    let promised = match subject.contains("none") {
        true => Durability::ProcessCrash,
        false => Durability::PowerLoss,
    };
    Cell {
        candidate: candidate.parse().unwrap(),
        kernel: "6.18.0".into(),
        subject: subject.into(),
        promised,
        crash: crash.parse().unwrap(),
        explored: Explored {
            states,
            images: states / 3,
            epochs: 100,
            epochs_whole: 90,
            tally,
            ..Explored::default()
        },
        smallest: Vec::new(),
        exposure: None,
        cost: Cost { records: 100, flushes: 210, writes: 310, bytes: 1_740_800 },
        seed: 1,
        asked: 300,
        image_bytes: 64 << 20,
        again: None,
        checked: 5,
        per_s: 40.0,
    }
}

const JOURNAL: &str = "journal/pwrite/fdatasync/fallocate";

fn row(candidate: &str, lost: [u64; 4]) -> Vec<Cell> {
    let crashes = ["process-kill", "kernel-crash", ORDERED, ANY];
    let counts = [1, 140, 96, 273];
    let each = crashes.iter().zip(counts).zip(lost);
    each.map(|((crash, states), lost)| cell(candidate, JOURNAL, crash, states, lost)).collect()
}

#[test]
fn the_first_line_says_who_lost_on_which_disk_and_where_not() {
    let mut cells = row("ext4:barrier=0", [0, 0, 0, 195]);
    cells[3].explored.tally.unmountable = 30;
    let state = |lost| format!("{ANY}@77+without-{lost}").parse().unwrap();
    let failure = Failure { state: state(3), found: Found::default().judged(4) };
    cells[3].explored.failures.push(failure);
    cells[3].smallest.push(state(1));
    cells[3].again = Some("pickfs crash --of a --state".into());
    cells.extend(row("ext4", [0; 4]));
    let document = document(&cells, LeftOut::default());
    let text = markdown::markdown(&document);
    let first = text.lines().next().unwrap();
    assert_eq!(
        first,
        "**LOST** ext4:barrier=0 with journal/pwrite/fdatasync/fallocate lost acknowledged records in 195 \
         of 273 states of a disk whose cache may reorder; in none of a process kill (all is written), or of \
         a kernel crash, or of a disk whose cache keeps order."
    );
    assert!(text.contains("195 of 273"), "{text}");
    assert!(text.contains("30 unmountable"), "{text}");
    assert!(text.contains("2.10") && text.contains("17 KiB"), "{text}");
    assert!(text.contains("acknowledged records 1 to 4 are not there"), "{text}");
    assert!(
        text.contains(&format!("\npickfs crash --of a --state {ANY}@77+without-1\n")),
        "{text}"
    );
}

/// Each count of a default matrix that lost is there, on a narrow screen too.
#[test]
fn no_column_of_an_answer_is_cut_at_80_columns() {
    let writers = "journal/pwrite/sync-file-range/fallocate journal/pwrite/fdatasync/zero-filled queue/msync \
                   journal/append/none/none fix/journal-fdatasync pair/fdatasync";
    let crashes = ["process-kill", "kernel-crash", ORDERED, ANY];
    let mut cells = Vec::new();
    for writer in [writers; 3].iter().flat_map(|writers| writers.split_whitespace()) {
        let label = ["ext4", "ext4:data=writeback,journal_async_commit", "xfs"][cells.len() / 24];
        cells.extend(crashes.map(|crash| cell(label, writer, crash, 2000, 1400)));
    }
    let screen = |cells: &[Cell]| {
        let text = terminal::terminal(&document(cells, LeftOut::default()), 80, false);
        let tables = text.split_once("survives").unwrap().1;
        assert_eq!(tables.matches("of 2,000").count(), 72, "{text}");
        text
    };
    let text = screen(&cells);
    let heads = text.lines().filter(|line| line.starts_with("writer"));
    assert_eq!(heads.count(), 2, "a table of what is lost and one of what it costs: {text}");
    cells.iter_mut().for_each(|cell| cell.explored.tally.unmountable = 1400);
    let text = screen(&cells);
    assert_eq!(text.matches("1,400 unmountable").count(), 72, "{text}");
}

#[test]
fn where_nothing_was_lost_it_says_in_how_many_states() {
    let mut cells = row("xfs", [0; 4]);
    cells.push(cell("xfs", "journal/pwrite/none/fallocate", ANY, 50, 40));
    cells.push(cell("xfs", JOURNAL, "power-loss:any-order/4096/lying", 50, 40));
    let left_out = LeftOut { all: 4, skipped: 1, failed: 2, interrupted: 0 };
    let text = markdown::markdown(&document(&cells[..4], left_out));
    let first = text.lines().next().unwrap();
    assert_eq!(
        first,
        "**KEPT** no acknowledged record was lost in 510 states, 273 of them of a disk whose cache may reorder \
         (power-loss:any-order/4096/honest); of 4 recordings 2 failed, 1 skipped."
    );
    cells[4].exposure = Some(Exposure { median_ns: 31_000_000_000, worst_ns: 61_000_000_000 });
    let text = markdown::markdown(&document(&cells, LeftOut::default()));
    assert!(text.contains("the last 31.0 s,") && text.contains("at worst 61.0 s"), "{text}");
    let seen = "**SEEN** xfs with journal/pwrite/fdatasync/fallocate lost acknowledged records in 40 of 50 states of \
                a disk whose cache may reorder and whose flush does nothing; elsewhere no acknowledged record was lost";
    assert!(text.starts_with(seen), "{text}");
    assert!(text.contains("40 of 50"), "{text}");
    let none = document(&cells[4..5], LeftOut::default());
    assert!(markdown::markdown(&none).starts_with("**NO PROMISE**"));
    cells[3].promised = Durability::KernelCrash;
    cells[3].explored.tally = Tally { lost: 195, failed: 195, ..Tally::default() };
    let declared = markdown::markdown(&document(&cells[..4], LeftOut::default()));
    let words = "; as is declared of it, xfs with journal/pwrite/fdatasync/fallocate lost acknowledged records in \
                 195 of 273 states of a disk whose cache may reorder.";
    assert!(declared.starts_with("**KEPT**") && declared.contains(words), "{declared}");
    cells[5].explored.tally = Tally::default();
    let blind = markdown::markdown(&document(&cells, LeftOut::default()));
    assert!(blind.starts_with("**BLIND** xfs with "), "{blind}");
}

#[test]
fn a_file_system_of_which_nothing_was_checked_is_named() {
    let mut cells = [row("nilfs2", [0; 4]), row("f2fs", [0; 4]), row("ext4", [0; 4])].concat();
    cells[..8].iter_mut().for_each(|cell| cell.checked = 0);
    let text = markdown::markdown(&document(&cells, LeftOut::default()));
    let words = "fsck.f2fs of f2fs was not asked, or is not there; nilfs2 has no checker.";
    assert!(text.contains(words), "{text}");
}

#[test]
fn a_class_is_measured_as_far_as_every_weaker_one_was_explored() {
    let class = |cells: &[Cell]| {
        let cells: Vec<_> = cells.iter().collect();
        measured(&cells).map(|survived| (survived.class, survived.to_string()))
    };
    let all = row("xfs", [0; 4]);
    let kept = |class, text: &str| Some((class, format!("measured: lost {text}")));
    let [process, kernel, power] =
        [Durability::ProcessCrash, Durability::KernelCrash, Durability::PowerLoss];
    assert_eq!(class(&all), kept(power, "0 of 273 states of any-order/4096/honest"));
    assert_eq!(class(&all[..2]), kept(kernel, "0 of 140 states of kernel-crash"));
    assert_eq!(class(&all[1..2]), None, "no process was killed");
    assert_eq!(class(&row("xfs", [0, 9, 0, 9])), kept(process, "9 of 140 states of kernel-crash"));
    let ordered = "3 of 96 states of ordered/4096/honest";
    assert_eq!(class(&row("xfs", [0, 0, 3, 1])), kept(kernel, ordered));
}

#[test]
fn later_runs_are_told_what_journals_lost_and_what_they_kept_on_a_hard_disk() {
    let of = |cells: &[Cell]| -> Vec<_> {
        seen(cells).into_iter().map(|one| (one.survived.class, one.survived.failed)).collect()
    };
    let power = Durability::PowerLoss;
    let mut all = row("xfs", [0; 4]);
    assert_eq!(of(&all), [(power, 0)]);
    assert_eq!(of(&all[..2]), [], "no power was lost");
    assert_eq!(of(&all[..3]), [], "no disk reordered");
    all[3].explored.epochs_whole = 10;
    assert_eq!(of(&all), [], "a few epochs of many");
    assert_eq!(of(&row("xfs", [0, 0, 0, 2])), [(Durability::KernelCrash, 2)]);
    let mut small = row("btrfs", [0, 0, 0, 2]);
    small[3].crash = "power-loss:any-order/512/honest".parse().unwrap();
    assert_eq!(of(&small), [], "most disks write 4096 bytes at once");
    let mut queue = row("xfs", [0, 0, 0, 2]);
    queue.iter_mut().for_each(|cell| cell.subject = "queue/msync".into());
    assert_eq!(of(&queue), [], "it may be its own fault");
    // Copy on write needs its metadata to find what a direct write has left.
    let mut direct = row("btrfs", [0, 58, 0, 90]);
    direct.iter_mut().for_each(|cell| cell.promised = Durability::KernelCrash);
    assert_eq!(of(&direct), [(Durability::ProcessCrash, 58)]);
}

#[test]
fn what_a_record_costs_is_read_off_the_log() {
    let write = What::Write { sector: 0, data: vec![1; 8192].into(), fua: false };
    let told = [write.clone(), What::Flush, write.clone(), What::Mark("a".into()), What::Flush];
    let log = Log::of(1 << 20, 0, told);
    let cost = Cost::of(&log, Position(1), log.end(), 2);
    assert_eq!(cost, Cost { records: 2, flushes: 2, writes: 1, bytes: 8192 });
    assert_eq!(cost.each(), [1.0, 0.5, 4096.0]);
}
