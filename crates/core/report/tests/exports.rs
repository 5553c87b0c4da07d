mod fixture;

use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    },
};
use pickfs_record::record::{Flag, Second};
use pickfs_report::{
    ChartKind, Look, Subject,
    chart::{Anchor, Form, Shape::*, lettering::width},
    charts,
    csv::{summary_csv, trials_csv},
    hlog::interval_logs,
    png::png,
    svg::{Setting, svg},
};
use pickfs_testkit::hdr_log;

fn read(text: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let own = |record: &csv::StringRecord| record.iter().map(String::from).collect::<Vec<_>>();
    let header = own(reader.headers().expect("a header"));
    let rows = reader.records().map(|row| own(&row.expect("as many fields as the header")));
    (header, rows.collect())
}

#[test]
fn every_trial_is_in_the_csv_even_a_failed_one() {
    let (run, findings) = fixture::first_screen();
    let (header, rows) = read(&trials_csv(&Subject::new(&run, &findings)).expect("text"));
    let column = |name: &str| header.iter().position(|h| h == name).expect(name);
    for trial in &run.trials {
        let number = trial.number.to_string();
        assert!(rows.iter().any(|row| row[column("trial")] == number), "trial {number}");
    }
    let failed = rows.iter().find(|row| row[column("outcome")].starts_with("failed: "));
    assert_eq!(failed.expect("the failed trial")[column("p50_ns")], "");
    let trial = &run.trials[1];
    let (number, value) = (trial.number.to_string(), trial.ops[0].service.quantiles[13].value_ns);
    let is_row =
        |row: &&Vec<String>| row[column("trial")] == number && row[column("view")] == "service";
    assert_eq!(rows.iter().find(is_row).expect("a row")[column("p99.9_ns")], value.to_string());
    assert!(header.contains(&"sync".to_string()), "axes are columns");
}

#[test]
fn the_summary_says_what_is_claimed_and_what_is_carried() {
    let (run, findings) = fixture::first_screen();
    let (header, rows) = read(&summary_csv(&Subject::new(&run, &findings)).expect("text"));
    let column = |name: &str| header.iter().position(|h| h == name).expect(name);
    let claims: Vec<_> = rows.iter().map(|row| row[column("claim")].as_str()).collect();
    assert!(claims.contains(&"faster") && claims.contains(&"slower") && claims.contains(&"equal"));
    let tail = rows.iter().find(|row| row[column("statistic")] == "p99.99").expect("p99.99");
    assert_eq!(tail[column("carried")], "false");
}

#[test]
fn interval_logs_are_read_by_hdrhistogram_itself() {
    let (mut run, findings) = fixture::first_screen();
    assert!(interval_logs(&run).is_empty(), "no log was kept");
    let cell = run.cells.iter_mut().find(|cell| cell.id == run.trials[0].cell);
    cell.expect("its cell").candidate.label = "two\nlines".into();
    run.trials[0].ops[0].interval_log = hdr_log(&[("service", 0, &[500, 600, 90_000])]);
    let logs = interval_logs(&run);
    assert_eq!(logs.len(), 1);
    assert_eq!(logs[0].file_name, "trial-0001-append.hlog");
    assert!(logs[0].text.contains("#[pickfs candidate: two lines]"));
    let entries: Vec<_> = IntervalLogIterator::new(logs[0].text.as_bytes())
        .map(|entry| entry.expect("a legal line"))
        .collect();
    let LogEntry::Interval(interval) = &entries[0] else { panic!("{entries:?}") };
    assert_eq!(interval.tag().map(|tag| tag.as_str()), Some("service"));
    let bytes = BASE64_STANDARD.decode(interval.encoded_histogram()).expect("base64");
    let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).expect("V2");
    assert_eq!(histogram.len(), 3);
    drop(findings);
}

#[test]
fn a_histogram_alone_becomes_a_log_of_one_line() {
    let (mut run, _) = fixture::first_screen();
    let line = hdr_log(&[("service", 0, &[700])]);
    let encoded = line.lines().last().and_then(|l| l.rsplit(',').next()).expect("a line");
    run.trials[0].ops[0].service.histogram = encoded.to_string();
    let logs = interval_logs(&run);
    let entries: Result<Vec<_>, _> = IntervalLogIterator::new(logs[0].text.as_bytes()).collect();
    assert_eq!(entries.expect("legal lines").len(), 1);
}

#[test]
fn every_chart_is_drawn_and_named() {
    let (run, findings) = fixture::preallocation();
    let subject = Subject::new(&run, &findings);
    let all = charts(&subject, Look::SHEET);
    let names: Vec<_> = all.iter().map(|chart| chart.name.as_str()).collect();
    let elsewhere =
        [ChartKind::LatencyMap, ChartKind::Capacity, ChartKind::Factors, ChartKind::SlowOperations];
    for kind in ChartKind::all().filter(|kind| !elsewhere.contains(kind)) {
        assert!(names.contains(&kind.name()), "{kind}");
    }
    assert!(names.contains(&"percentiles-2"), "the second panel");
    for chart in &all {
        let text = svg(&chart.scene, Setting::Alone);
        assert!(text.contains("<title>") && text.ends_with("</svg>\n"), "{}", chart.name);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{}", chart.name);
    }
    let bytes = png(&all[0].scene, 0.5).expect("painted");
    assert!(bytes.starts_with(b"\x89PNG"));
}

#[test]
fn capacity_is_drawn_where_it_was_measured() {
    let (mut run, findings) = fixture::first_screen();
    let subject = Subject::new(&run, &findings);
    assert!(ChartKind::Capacity.draw(&subject, Look::PAGE).is_empty());
    let cell = findings.panels[0].rows[0].cell.clone();
    for (trial, rate) in
        run.trials.iter_mut().filter(|t| t.cell == cell).zip([4.0, 3.0, 5.0, 4.24, 4.12])
    {
        trial.counts.insert("capacity_per_s".into(), rate * 100_000.0);
    }
    let findings = pickfs_analysis::findings(&run);
    let subject = Subject::new(&run, &findings);
    let charts = ChartKind::Capacity.draw(&subject, Look::PAGE);
    assert!(svg(&charts[0].scene, Setting::Alone).contains("412,000/s"));
}

fn ever_slower(second: u32) -> Second {
    let service_p50_ns = 100 << second;
    let [service_min_ns, service_max_ns] = [service_p50_ns; 2];
    let response_max_ns = service_p50_ns;
    Second { second, count: 9, service_min_ns, service_p50_ns, service_max_ns, response_max_ns }
}

#[test]
fn every_trial_is_a_dot_a_doubted_one_hollow_and_a_repeat_is_a_cross() {
    let (mut run, findings) = fixture::first_screen();
    let cell = findings.panels[0].rows[0].cell.clone();
    let flag = |kind: &str| Flag { kind: kind.into(), text: kind.into() };
    run.trials.iter_mut().for_each(|trial| trial.flags = vec![flag("period-not-covered")]);
    let shown = Subject::new(&run, &findings).headline(&findings.panels[0]);
    let mut own = run.trials.iter_mut().filter(|t| t.cell == cell && !t.ops.is_empty());
    for doubts_it in [true, false] {
        let trial = own.next().expect("a trial");
        trial.flags.push(flag("not-steady"));
        let shown = trial.ops.iter_mut().filter(|op| doubts_it && shown.names(&op.op));
        shown.for_each(|op| op.intervals = (0..9).map(ever_slower).collect());
    }
    let again = run.trials.iter().find(|t| t.cell == cell && !t.ops.is_empty()).cloned();
    run.trials.push(pickfs_record::TrialRecord { attempt: 2, ..again.expect("a trial") });
    let subject = Subject::new(&run, &findings);
    let drawn = ChartKind::Trials.draw(&subject, Look::PAGE);
    let marks = drawn[0].scene.items.iter().filter_map(|item| match item.shape {
        Marker { form, hollow, .. } => Some((form, hollow)),
        _ => None,
    });
    let (crosses, dots): (Vec<_>, Vec<_>) = marks.partition(|(form, _)| *form == Form::Cross);
    assert_eq!(
        dots.iter().filter(|(_, hollow)| *hollow).count(),
        1,
        "a length is no doubt, nor another operation"
    );
    let finished = findings.panels[0].rows.iter().map(|row| row.trials as usize).sum::<usize>();
    assert_eq!((dots.len(), crosses.len()), (finished, 1));
}

#[test]
fn a_slow_second_stands_above_the_others_in_the_map_over_time() {
    let (mut run, findings) = fixture::first_screen();
    let cell = findings.panels[0].rows[0].cell.clone();
    let drawn = |run: &pickfs_record::RunRecord| {
        ChartKind::LatencyMap.draw(&Subject::new(run, &findings), Look::PAGE)
    };
    assert!(drawn(&run).is_empty(), "no logs by the second");
    let row = findings.panels[0]
        .rows
        .iter()
        .find(|row| row.backing != pickfs_record::BackingKind::Memory);
    let cell = row.map_or(cell, |row| row.cell.clone());
    let (slow, usual) = ([900_000; 50], [900; 50]);
    let of = |second: u64| ("service", second, if second == 21 { &slow[..] } else { &usual[..] });
    let log = hdr_log(&(0..40).map(of).collect::<Vec<_>>());
    for trial in run.trials.iter_mut().filter(|trial| trial.cell == cell) {
        for op in &mut trial.ops {
            op.response = None;
            op.interval_log.clone_from(&log);
        }
    }
    let scene = drawn(&run).remove(0).scene;
    let mut all: Vec<(f32, f32, f32)> = Vec::new();
    for item in &scene.items {
        if let Cells { cells, .. } = &item.shape {
            all.extend(cells);
        }
    }
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    assert_eq!(all.len(), 3, "one slow second, and those before and behind it: {all:?}");
    assert!(all[0].2 < all[1].2 && all[1].1 == all[2].1, "{all:?}");
}

#[test]
fn a_file_system_keeps_its_colour_from_run_to_run() {
    let slots = [fixture::first_screen(), fixture::thousand()].map(|(run, findings)| {
        let subject = Subject::new(&run, &findings);
        ["ext4", "xfs", "btrfs"].map(|label| subject.slot(label))
    });
    assert_eq!(slots[0], slots[1]);
}

#[test]
fn operations_are_never_mixed_in_one_group() {
    let (run, findings) = fixture::first_screen();
    let subject = Subject::new(&run, &findings);
    let grouped = ChartKind::Axis.draw(&subject, Look::PAGE);
    assert!(grouped.is_empty(), "append and durable are two things");
}

#[test]
fn nothing_is_drawn_outside_its_picture() {
    let (run, findings) = fixture::first_screen();
    let subject = Subject::new(&run, &findings);
    for look in [Look::PAGE, Look::SHEET] {
        for chart in charts(&subject, look) {
            let scene = &chart.scene;
            let inside = |x: f32, y: f32| {
                (-0.5..=scene.width + 0.5).contains(&x) && (-0.5..=scene.height + 0.5).contains(&y)
            };
            for item in &scene.items {
                assert!(corners(&item.shape).iter().all(|(x, y)| inside(*x, *y)), "{item:?}");
            }
        }
    }
}

fn corners(shape: &pickfs_report::chart::Shape) -> Vec<(f32, f32)> {
    match shape {
        Line { points, .. } => points.clone(),
        Bar { x, y, width, height, .. } => vec![(*x, *y), (x + width, y + height)],
        Marker { x, y, .. } => vec![(*x, *y)],
        Cells { cells, .. } => cells.iter().flat_map(|(x, y, w)| [(*x, *y), (x + w, *y)]).collect(),
        Words { x, y, size, anchor, text, .. } => {
            let wide = width(text, *size);
            let left = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - wide / 2.0,
                Anchor::End => x - wide,
            };
            vec![(left, *y), (left + wide, *y)]
        }
    }
}
