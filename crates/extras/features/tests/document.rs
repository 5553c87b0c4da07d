#![allow(clippy::unwrap_used)]

use pickfs_features::answers::{
    Answer, Capability, Classification, FeatureRow, FeatureTable, Group, Presence, Verdict,
};
use pickfs_features::{Detail, features_document};
use pickfs_record::Environment;
use pickfs_record::origin::{Class, Fact, Home, Origin};
use pickfs_report::document::{html::html, markdown::markdown, terminal::terminal};

const NAMES: [&str; 12] = [
    "ext4",
    "xfs",
    "btrfs",
    "tmpfs",
    "ntfs-3g",
    "zfs-fuse",
    "exfat-fuse",
    "ext4-fuse2fs",
    "ext3-fuse2fs",
    "f2fs",
    "jfs",
    "nilfs2",
];

const fn capability(key: &'static str, label: &'static str, group: Group) -> Capability {
    Capability { key, label, group, how: "Ask <and> look." }
}

const CAPABILITIES: [Capability; 4] = [
    capability("hard-links", "hard links", Group::Unix),
    capability("reflink", "copies share blocks", Group::Space),
    capability("name-length", "longest name", Group::Names),
    capability("direct", "direct I/O", Group::Data),
];

const FACT: Fact = Fact { text: "in 1999 by <somebody>", source: "a | paper" };

fn origin() -> Origin {
    Origin {
        home: Home::Elsewhere,
        is_unix_by_design: true,
        article_class: Some(Class::ForeignSupported),
        designed: FACT,
        purpose: FACT,
        stable_since: FACT,
        served_by: FACT,
        journal: FACT,
        devices: FACT,
        systems: FACT,
        distributions: FACT,
        checksums: FACT,
        compression: FACT,
        snapshots: FACT,
        encryption: FACT,
        casefold: FACT,
        limits: FACT,
        looked_up: "2026-11",
    }
}

fn asked(name: &str) -> FeatureRow {
    let reflink = if name == "xfs" { Verdict::Yes } else { Verdict::No };
    let direct = match name {
        "tmpfs" => Answer::new(Verdict::Partly, "goes through the <cache>"),
        _ => Answer::new(Verdict::Yes, ""),
    };
    let is_foreign = name == "ntfs-3g";
    let class = if is_foreign { Class::ForeignUnsupported } else { Class::Native };
    FeatureRow {
        label: name.into(),
        fs: name.into(),
        presence: Presence::Asked {
            driver: name.into(),
            options: "rw".into(),
            engine: if name == "jfs" { "qemu-tcg" } else { "native" }.into(),
            kernel: "6.1".into(),
        },
        answers: vec![
            Answer::new(Verdict::Yes, ""),
            Answer::new(reflink, "ioctl FICLONE: EOPNOTSUPP"),
            Answer::measured("255 B", "255 of a"),
            direct,
        ],
        origin: Some(origin()),
        classification: Some(Classification {
            class,
            because: "lacks here: owners stick".into(),
            is_measured: is_foreign,
            article: is_foreign.then_some(Class::ForeignSupported),
            differs_because: if is_foreign { "it went by the design" } else { "" }.into(),
        }),
    }
}

fn absent(name: &str, reason: &str) -> FeatureRow {
    let presence = Presence::Missing { reason: reason.into(), remedy: "install tools".into() };
    FeatureRow { presence, answers: Vec::new(), ..asked(name) }
}

fn table(names: &[&str]) -> FeatureTable {
    let mut rows: Vec<_> = names.iter().map(|name| asked(name)).collect();
    rows.push(absent("hfs", "this kernel has no file system hfs"));
    rows.push(absent("bcachefs", "bcachefs not found"));
    FeatureTable {
        format: 1,
        started: "2026-11-22T01:02:03Z".into(),
        build: "pickfs 0".into(),
        machine: Environment::default(),
        ground: "a loop image of \u{1b}[31m384 MiB".into(),
        capabilities: CAPABILITIES.to_vec(),
        rows,
    }
}

fn features_screen(table: &FeatureTable, detail: Detail, columns: usize) -> String {
    terminal(&features_document(table, detail), columns, false)
}

fn features_markdown(table: &FeatureTable) -> String {
    markdown(&features_document(table, Detail::All))
}

fn features_html(table: &FeatureTable) -> String {
    html(&features_document(table, Detail::All))
}

#[test]
fn no_line_is_wider_than_the_screen_and_no_candidate_is_lost() {
    let table = table(&NAMES);
    for columns in [80, 100, 160] {
        for detail in [Detail::Differences, Detail::All] {
            let screen = features_screen(&table, detail, columns);
            let widest = screen.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns, "{columns}: {widest}\n{screen}");
            let heads: String = screen.split_whitespace().collect();
            for name in NAMES {
                assert!(heads.contains(name.split('-').next_back().unwrap()), "{name}\n{screen}");
            }
        }
    }
}

#[test]
fn the_screen_shows_differences_and_says_the_rest_in_a_line() {
    let screen = features_screen(&table(&NAMES[..5]), Detail::Differences, 100);
    let grid: Vec<_> = screen.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(grid.iter().any(|line| line.contains("copies share blocks")), "{screen}");
    assert!(!grid.iter().any(|line| line.trim_start().starts_with("hard links")), "{screen}");
    assert!(screen.contains("all do    hard links\n"), "{screen}");
    assert!(screen.contains("alike     longest name 255 B\n"), "{screen}");
    assert!(screen.contains("notes     direct I/O, tmpfs: goes through the <cache>"), "{screen}");
    assert!(screen.contains("bcachefs: bcachefs not found; install tools"), "{screen}");
    assert!(screen.contains("hfs: this kernel has no file system for them"), "{screen}");
}

#[test]
fn all_shows_every_capability_and_every_reason() {
    let screen = features_screen(&table(&NAMES[..5]), Detail::All, 100);
    assert!(screen.contains("\n  hard links "), "{screen}");
    assert!(screen.contains("hfs: this kernel has no file system hfs; install tools"), "{screen}");
}

#[test]
fn both_classes_are_shown_where_they_differ() {
    let table = table(&NAMES[..5]);
    let wanted = "the article says foreign supported: it went by the design";
    let screen = features_screen(&table, Detail::Differences, 140);
    for text in [screen, features_markdown(&table), features_html(&table)] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("lacks here: owners stick"), "{text}");
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn the_page_loads_nothing_and_hides_what_is_the_same() {
    let page = features_html(&table(&NAMES));
    for loads in ["<script", "src=", "url(", "@import", "http://", "https://"] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(
        page.contains("<tr class=\"same\"><td class=\"word\" title=\"Ask &lt;and&gt; look.\">hard")
    );
    assert!(page.contains("<td class=\"mark none\""));
    assert_eq!(page.matches("<th class=\"mark\">").count(), NAMES.len());
    assert!(page.contains("mounted here by"));
}

#[test]
fn markdown_rows_have_a_cell_for_every_candidate() {
    let markdown = features_markdown(&table(&NAMES));
    let rows: Vec<_> = markdown.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 2 + 4 + CAPABILITIES.len());
    for row in rows {
        assert_eq!(row.matches('|').count(), NAMES.len() + 2, "{row}");
    }
}
