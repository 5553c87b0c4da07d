use std::collections::BTreeMap;

use pickfs_record::RunRecord;
use pickfs_report::{
    Look, Subject,
    chart::{ChartKind, Part, Shape},
    exports,
    first::first_screen,
    html::html,
    markdown::markdown,
    terminal::Screen,
};
use pickfs_testkit::{FakeRun, explained, fake_run};

fn run() -> RunRecord {
    explained(fake_run(&FakeRun { blocks: 6, ..FakeRun::default() }))
}

fn with<T>(run: &RunRecord, look: impl Fn(&Subject) -> T) -> T {
    let findings = pickfs_analysis::findings(run);
    look(&Subject::new(run, &findings))
}

#[test]
fn the_page_tells_the_causes_and_opens_the_slowest_operations() {
    let page = with(&run(), |subject| html(subject, None));
    let section = page.split("id=\"slow\"").nth(1).expect("a section");
    let section = section.split("id=\"pictures\"").next().expect("pictures come after it");
    for words in [
        "another holds the lock of this xfs inode",
        "by reader in xfs_file_buffered_read",
        "let readers map the file",
        "70 %",
        "20 %",
        "id=\"chart-slow-operations\"",
    ] {
        assert!(section.contains(words), "{words} is missing");
    }
    let cells = page.split("id=\"cells\"").nth(1).expect("every cell");
    for words in [
        "Why it was slow",
        "the slowest operations, from start to end",
        "rwsem_down_write_slowpath &lt; xfs_file_buffered_write",
        "rwsem_wake &lt; xfs_file_buffered_read",
    ] {
        assert!(cells.contains(words), "{words} is missing");
    }
    assert!(page.contains("href=\"#slow\""), "the first screen leads there");
}

#[test]
fn a_run_that_was_not_explained_has_no_trace_of_it() {
    let plain = fake_run(&FakeRun { blocks: 2, ..FakeRun::default() });
    let (page, words, names, screen) = with(&plain, |subject| {
        let screen = first_screen(subject, &Screen { columns: 100, ..Screen::default() });
        (html(subject, None), markdown(subject, None), exports::file_names(subject), screen)
    });
    assert!(!page.contains("Why operations were slow") && !page.contains("#slow"));
    assert!(!words.contains("Why operations were slow") && !screen.contains("pickfs explain"));
    assert!(!names.iter().any(|name| name == exports::STALLS || name.contains("slow-operations")));
    let asked = with(&plain, |subject| exports::render(subject, None, exports::STALLS));
    assert_eq!(asked.expect("no failure"), None);
}

#[test]
fn the_rows_of_the_table_sum_to_the_time_that_was_kept() {
    let run = run();
    let bytes = with(&run, |subject| exports::render(subject, None, exports::STALLS));
    let text = bytes.expect("no failure").expect("the run was explained");
    let mut reader = csv::Reader::from_reader(&text[..]);
    let header = reader.headers().expect("a header").clone();
    let place = |name: &str| header.iter().position(|known| known == name).expect("a column");
    let (cell, op, total) = (place("cell"), place("op"), place("total_ns"));
    let (share, stack) = (place("share"), place("stack"));
    let mut found: BTreeMap<(String, String), (u64, f64)> = BTreeMap::new();
    for row in reader.records() {
        let row = row.expect("a row");
        let sums = found.entry((row[cell].into(), row[op].into())).or_default();
        sums.0 += row[total].parse::<u64>().expect("nanoseconds");
        sums.1 += row[share].parse::<f64>().expect("a share");
        assert!(row[stack].is_empty() || row[stack].contains(" < "), "{row:?}");
    }
    let mut kept: BTreeMap<(String, String), u64> = BTreeMap::new();
    for trial in &run.trials {
        for op in trial.stalls.iter().flat_map(|stalls| &stalls.ops) {
            *kept.entry((trial.cell.0.clone(), op.op.clone())).or_default() += op.total_ns;
        }
    }
    assert_eq!(found.len(), kept.len());
    for (key, (total_ns, share)) in found {
        assert_eq!(total_ns, kept[&key], "{key:?}");
        assert!((share - 1.0).abs() < 1e-3, "{key:?}: {share}");
    }
}

#[test]
fn markdown_and_the_first_screen_name_the_leading_cause() {
    let (words, screen) = with(&run(), |subject| {
        let screen = first_screen(subject, &Screen { columns: 100, ..Screen::default() });
        (markdown(subject, None), screen)
    });
    assert!(words.contains("### Why operations were slow"));
    assert!(words.contains("| 70 % |") && words.contains("reader in xfs"), "{words}");
    let slow = screen.split("\nslow ").nth(1).unwrap_or_else(|| panic!("{screen}"));
    let words: Vec<&str> = slow.split_whitespace().collect();
    assert!(words.join(" ").contains("pickfs explain RUN"), "{slow}");
}

#[test]
fn spikes_of_one_cause_have_one_colour_and_one_marker() {
    let charts = with(&run(), |subject| ChartKind::SlowOperations.draw(subject, Look::PAGE));
    assert!(charts.len() >= 2, "{} charts", charts.len());
    let mut looks: BTreeMap<String, String> = BTreeMap::new();
    for item in charts.iter().flat_map(|chart| &chart.scene.items) {
        if let Shape::Marker { ink, form, .. } = item.shape {
            // Those of a legend look as those of the data.
            let (Part::Data(series) | Part::Key(series)) = item.part.clone() else {
                panic!("a marker belongs to a cause")
            };
            let look = format!("{ink:?} {form:?}");
            assert_eq!(*looks.entry(series).or_insert(look.clone()), look);
        }
    }
    let kinds: std::collections::BTreeSet<_> = looks.values().collect();
    assert_eq!(kinds.len(), looks.len(), "{looks:?}");
}
