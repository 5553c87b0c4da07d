use pickfs_analysis::published::{self, Statistic, beside::beside, bonnie};
use pickfs_record::RunRecord;
use pickfs_report::{
    Subject,
    beside::beside_document,
    document::{html::html, markdown::markdown, terminal::terminal},
    exports::{file_names, phased_names, render},
};
use pickfs_testkit::{FakePhasedRun, fake_phased_run};

fn shown<T>(run: &RunRecord, show: impl FnOnce(&Subject) -> T) -> T {
    let findings = pickfs_analysis::findings(run);
    show(&Subject::new(run, &findings))
}

fn exported(run: &RunRecord, name: &str) -> String {
    let bytes = shown(run, |subject| render(subject, None, name)).expect("written").expect("known");
    String::from_utf8(bytes).expect("text")
}

fn files() -> RunRecord {
    fake_phased_run(&FakePhasedRun::files())
}

fn column() -> RunRecord {
    fake_phased_run(&FakePhasedRun { lanes: vec![1, 64], ..FakePhasedRun::column() })
}

#[test]
fn a_phased_run_has_its_files_by_name_and_a_loop_has_none() {
    let names = shown(&column(), file_names);
    for name in ["phases.csv", "psv/xfs.psv", "psv/ext4.psv", "charts/trials-disk-sort.svg"] {
        assert!(names.contains(&name.to_string()), "{name}");
    }
    assert!(!names.contains(&"bonnie.csv".to_string()));
    let names = shown(&files(), phased_names);
    assert!(names.contains(&"bonnie.csv".to_string()), "{names:?}");
    let run = pickfs_testkit::fake_run(&Default::default());
    assert!(shown(&run, phased_names).is_empty());
    assert!(shown(&run, |s| render(s, None, "bonnie.csv")).expect("no error").is_none());
}

#[test]
fn psv_has_the_originals_columns_and_classes() {
    let mut run = column();
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        if phase.phase == "sync float large" {
            phase.values.insert("inflated_rate_per_s".into(), 98e9);
        }
    }
    let text = exported(&run, "psv/xfs.psv");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('|').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "numproc,threadnr,os,testtype,test,qexpression,accuracy,throughput,unit,\
         iostat_read_throughput,iostat_write_throughput,iostat_readwrite_throughput"
    );
    assert!(rows.iter().all(|row| row.len() == 12));
    assert_eq!(rows.len(), 1 + 2 * 53, "all rows but the derived ones, for both numbers");
    let row = |test: &str, kind: &str| {
        rows.iter().find(|row| row[4] == test && row[3] == kind).expect("the row").clone()
    };
    let write = row("write float large", "write disk");
    assert_eq!((write[0], write[1], write[2], write[8]), ("1", "8", "l64", "MB/s"));
    let rate: f64 = write[7].parse().expect("a number");
    assert!((rate / 2170.0 - 1.0).abs() < 0.1, "{rate}");
    assert!(write[6].len() <= 5 && write[6].starts_with("99.9"), "{}", write[6]);
    row("sequential read binary", "read disk");
    row("sequential read binary", "read mem write mem");
    assert_eq!(row("sync float large", "write disk")[7], "98000.00");
}

#[test]
fn a_bonnie_line_is_read_back_with_the_same_figures() {
    let run = files();
    let text = exported(&run, "bonnie.csv");
    assert_eq!(text.lines().count(), 6 * 4, "one for each finished trial");
    assert!(text.lines().all(|line| line.split(',').count() == 50), "{text}");
    let table = bonnie::read("own.csv", &text).expect("our own lines are legal");
    assert_eq!(table.file_systems(), ["ext4", "xfs", "btrfs", "fat16"]);
    let findings = pickfs_analysis::findings(&run);
    let panel = &findings.panels[0];
    for phase in &panel.phases {
        for (row, cell) in panel.rows.iter().zip(&phase.cells) {
            let at = (1, phase.label.as_str(), None);
            let read = table.number(at, &row.label, Statistic::Rate);
            let Some(rate) = cell.rate else {
                assert_eq!(read, None, "{}: no result is an empty field", phase.phase);
                continue;
            };
            let unit = if phase.unit == pickfs_record::WorkUnit::Bytes { 1024.0 } else { 1.0 };
            let read = read.unwrap_or(0.0);
            let off = (read - rate.median / unit).abs() / read.max(1.0);
            assert!(off < 0.05, "{} of {}: {read}", phase.phase, row.label);
        }
    }
}

#[test]
fn the_fields_of_a_bonnie_line_are_the_originals() {
    let mut run = files();
    run.trials.truncate(1);
    for phase in &mut run.trials[0].phases {
        phase.elapsed_ns = 2_000_000_000;
        match phase.phase.as_str() {
            "block write" => phase.real_bytes = 2000 << 20,
            "rewrite" => phase.elapsed_ns = 499_999_999,
            "seeks" => (phase.rate_per_s, phase.work) = (366.66, 8192.0),
            "seq create" => phase.work = 512_000.0,
            "seq stat" => {
                phase.values.insert("latency_max_ns".into(), 99_999_999_999.0);
            }
            "seq delete" => {
                phase.values.insert("latency_max_ns".into(), 1_281_900_000.0);
            }
            _ => {}
        }
    }
    let cell = run.cells.iter_mut().find(|cell| cell.id == run.trials[0].cell).expect("its cell");
    cell.workload.params.insert("chunk".into(), "64KiB".into());
    let text = exported(&run, "bonnie.csv");
    let fields: Vec<&str> = text.trim_end().split(',').collect();
    assert_eq!((fields[0], fields[3], fields[5], fields[6]), ("1.98", "1", "2000M", "64k"));
    assert_eq!((fields[7], fields[8]), ("8192", "8"), "seeks and seekers");
    assert_eq!((fields[9], fields[10]), ("", ""), "no phase of single characters was run");
    assert_eq!((fields[13], fields[14]), ("+++++", "+++"), "under half a second");
    assert_eq!(fields[19], "366.7");
    assert_eq!((fields[20], fields[21]), ("43", "500"));
    assert_eq!(fields[45], "99s", "above 99.999999 s");
    assert_eq!(fields[46], "1281ms");
}

#[test]
fn every_phase_of_every_trial_is_a_row_of_the_csv() {
    let text = exported(&files(), "phases.csv");
    assert_eq!(text.lines().count(), 1 + 6 * 4 * 10);
    let head = "run,trial,block,attempt,candidate,cell,phase,label,suite,heat,high_impact,derived";
    assert!(text.starts_with(head), "{text}");
    assert!(text.lines().any(|line| line.contains(",failed,") && line.contains("ENOSPC")));
}

fn beside_rhel9() -> published::Beside {
    let ask = FakePhasedRun { blocks: 8, ..FakePhasedRun::column() };
    beside(&fake_phased_run(&ask), published::find("kx-2025-rhel9").expect("built in"))
}

#[test]
fn a_run_beside_a_table_at_100_columns() {
    insta::assert_snapshot!(terminal(&beside_document(&beside_rhel9()), 100, false));
}

#[test]
fn markdown_and_page_say_the_same_and_load_nothing() {
    let found = beside_rhel9();
    let document = beside_document(&found);
    let (text, page) = (markdown(&document), html(&document));
    for said in ["same side", "opposite side", "no difference here", "not measured"] {
        assert!(text.contains(said) && page.contains(said), "{said}");
    }
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("http://") && !page.contains("<script"));
    assert_eq!(text.matches("GEOMETRIC MEAN").count(), 4);
}
