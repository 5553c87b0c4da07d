mod fixture;

use std::time::Instant;

use fixture::Found;
use pickfs_report::{
    NextStep, Subject,
    html::html,
    wording::{claim_text, interval_text},
};

const HOSTILE: &str = "x\"'><script>alert(1)</script><img src=http://evil.example/a onerror=b>";

fn page((run, findings): Found) -> String {
    let next = NextStep { command: "./run journal".into(), duration_s: 2_700.0 };
    html(&Subject::new(&run, &findings), Some(&next))
}

#[test]
fn the_page_loads_nothing() {
    let page = page(fixture::first_screen());
    assert!(!page.contains("http://") && !page.contains("https://"));
    let page = page.replace("url(#", "a part of the page itself ");
    for load in ["src=", "@import", "url(", "<iframe", "fetch(", "XMLHttpRequest", "<base"] {
        assert!(!page.contains(load), "{load}");
    }
    assert_eq!(page.matches("<link").count(), 1, "only the empty icon");
    assert_eq!(page.matches("<script>").count(), 1, "only our own script");
}

#[test]
fn hostile_words_stay_words_everywhere() {
    let (mut run, mut findings) = fixture::first_screen();
    run.plan.question = HOSTILE.into();
    run.name = HOSTILE.into();
    run.environment.put("cpu.model", HOSTILE);
    run.card.put("card.odd", HOSTILE);
    run.plan.params.insert(HOSTILE.into(), HOSTILE.into());
    for trial in &mut run.trials {
        trial.notes.push(HOSTILE.into());
        trial.environment.put(HOSTILE, HOSTILE);
        trial.steps[0].step.purpose = HOSTILE.into();
    }
    for panel in &mut findings.panels {
        panel.title.push_str(HOSTILE);
        panel.reference = HOSTILE.into();
        panel.rows[0].label = HOSTILE.into();
        panel.rows[0].notes.push(HOSTILE.into());
        panel.rows[0].ops[0].op = HOSTILE.into();
    }
    findings.absent[0].reason = HOSTILE.into();
    findings.notices[0].text = HOSTILE.into();
    findings.not_yet[0].why = HOSTILE.into();
    findings.endings[0].details.push(HOSTILE.into());
    findings.endings[0].commands.push(HOSTILE.into());
    let next = NextStep { command: HOSTILE.into(), duration_s: 1.0 };
    let page = html(&Subject::new(&run, &findings), Some(&next));
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert!(!page.contains("x\"'>"), "quotation marks leave no attribute");
    assert_eq!(page.matches("<script>").count(), 1);
}

#[test]
fn the_page_holds_the_numbers_and_the_reasons() {
    let page = page(fixture::first_screen());
    for words in [
        "Which file system for my journal?",
        "(intervals at 95 %)",
        "equal within 5 %",
        "mkfs.xfs ",
        "apt install zfs-fuse",
        "fewer than ten episodes over three trials carry them",
        "worker ended by signal 9",
        "implausibly fast for a disk",
        "raw 503 us",
        "survives a power loss, if the device keeps its word",
        "./run journal",
        "45 min",
        "shuffled by seed 7",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for chart in ["answer", "trials", "percentiles", "noise"] {
        assert!(page.contains(&format!("id=\"chart-{chart}\"")), "{chart}");
    }
}

#[test]
fn notes_stand_under_their_row() {
    let page = page(fixture::first_screen());
    assert!(
        page.contains("<tr class=\"below\"><td colspan=\"10\"><div>raw-out-of-band 1 of 40</div>")
    );
    assert!(page.contains("<th>against ext4</th>"), "the metric stands above the table");
}

#[test]
fn the_answers_name_the_choice_with_its_value_ratio_and_interval() {
    let page = page(fixture::first_screen());
    let (_, board) = page.split_once("id=\"answer\"").expect("the answers");
    let (_, ranking) = page.split_once("id=\"ranking\"").expect("the ranking");
    let board = board.split("</section>").next().expect("text");
    for words in ["xfs or ext4<small>EQUAL", "xfs<small>WINNER", "reference"] {
        assert!(board.contains(words), "{words} in {board}");
    }
    let (_, findings) = fixture::first_screen();
    for found in findings.panels.iter().flat_map(|panel| &panel.comparisons).filter(|c| c.primary) {
        let interval = interval_text(found).unwrap_or_default();
        for words in [claim_text(found), interval] {
            assert!(board.contains(&words) && ranking.contains(&words), "{words} in {board}");
        }
    }
    assert!(!board.contains("tmpfs"), "a floor is no choice");
}

#[test]
fn a_capacity_shows_the_rate_and_what_survives() {
    let (run, findings) = fixture::capacity();
    let page = html(&Subject::new(&run, &findings), None);
    let head = "<th>variant</th><th>highest rate held</th><th>p50</th>";
    assert!(page.contains(head) && page.contains("<th>survives</th>"));
    assert!(page.contains("101,370/s<small>95,790-106,950/s</small>"));
    assert!(page.contains("id=\"chart-capacity\"") && !page.contains("id=\"chart-axis\""));
}

#[test]
fn the_articles_note_stands_at_the_top() {
    let page = page(fixture::preallocation());
    let note = page.find("article 001, figure 3").expect("the note");
    assert!(note < page.find("id=\"ranking\"").expect("the ranking"));
    assert!(page.contains("battery-backed cache"));
    assert!(page.contains("id=\"chart-axis\""));
}

#[test]
fn every_opened_element_is_closed() {
    let page = page(fixture::first_screen());
    for tag in ["section", "details", "table", "figure", "svg", "g", "div", "dl", "tr", "td", "p"] {
        let opened = page.matches(&format!("<{tag}>")).count();
        let opened = opened + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn an_empty_run_still_makes_a_page() {
    let (mut run, _) = fixture::first_screen();
    run.trials.clear();
    let findings = pickfs_record::Findings::default();
    let page = html(&Subject::new(&run, &findings), None);
    assert!(page.contains("Which file system for my journal?"));
}

#[test]
fn a_thousand_trials_stay_small_and_quick() {
    let (run, findings) = fixture::thousand();
    assert!(run.trials.len() >= 950);
    let subject = Subject::new(&run, &findings);
    let start = Instant::now();
    let page = html(&subject, None);
    let took_s = start.elapsed().as_secs_f64();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    let bound_s = if cfg!(debug_assertions) { 60.0 } else { 4.0 };
    assert!(took_s < bound_s, "{took_s} s");
}
