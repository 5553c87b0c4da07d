//! This is the one place that words an answer; terminal, page, Markdown, JSON and lists print what
//! stands here.

mod cold_disk;
mod commands;
mod gated;
mod retyped;
mod told;

use pickfs_record::{
    BackingKind, RunRecord,
    environment::REDUCED_KEY,
    finding::{Answer, AnswerEnd, Cure, Ending, Lead, OpSummary, Panel, Row},
    plan::{Design, Metric, Statistic, StopRule, View},
    quantity::duration_text,
};

use gated::{cure_of, gate_of, gated, lower_rate, overload};
pub use retyped::{again, command};
pub use told::{best, standing};

use crate::{
    BLOCKS_MIN,
    budget::enough_blocks,
    panels::{BY_CANDIDATE, Group},
    summary::is_carried,
    wording::{blocks_text, list, metric_words, percent_over_one, quantile_name, survival, times},
};

/// Blocks of a planned run, at most, that are proposed by their number; beyond them a race.
const BLOCKS_PROPOSED_MAX: u32 = 100;
/// How a run ended that was stopped because every trial was disturbed.
pub const DISTURBED: &str = "disturbed";
/// Quantiles at which another order is looked for, the farthest first.
const TURNS: [f64; 3] = [0.999, 0.99, 0.5];

/// One for each answer and each missing metric, the plan's first metric first; without an answer the reason.
pub fn endings(
    run: &RunRecord,
    (groups, panels): (&[Group<'_>], &[Panel]),
    answers: &[Answer],
    missing: &[&Metric],
) -> Vec<Ending> {
    let place = |metric: &Metric| run.plan.design.primary.iter().position(|m| m == metric);
    let of_answer = |(index, a): (usize, &Answer)| {
        let both = groups.iter().zip(panels).find(|(group, _)| group.title == a.panel);
        (place(&a.metric), Ending { answer: Some(index), ..ending(run, both, a) })
    };
    let mut found: Vec<_> = answers.iter().enumerate().map(of_answer).collect();
    let lacking = missing.iter().map(|m| (place(m), nothing_compared(run, panels, Some(m))));
    match asks(run, panels) {
        true if found.is_empty() => found.push((None, nothing_compared(run, panels, None))),
        true => found.extend(lacking),
        false => {}
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, ending)| ending).collect()
}

fn ending(run: &RunRecord, both: Option<(&Group<'_>, &Panel)>, answer: &Answer) -> Ending {
    let panel = both.map(|(_, panel)| panel);
    let left = named(run, &answer.left);
    let by = by(panel, answer);
    let margin = percent_over_one(1.0 + answer.margin);
    let sentence = match (answer.end, &answer.lead) {
        (AnswerEnd::Winner, Some(lead)) => format!("{left}: {} {by}", ahead(&left, lead)),
        (AnswerEnd::Winner, None) => format!("{left}, {by}"),
        (AnswerEnd::Equal, lead) => {
            let blocks = blocks_text(lead.as_ref().map_or(answer.blocks, |lead| lead.blocks));
            format!("{left} are equal within {margin} ({blocks}) {by}")
        }
        (AnswerEnd::NoAnswer, _) => open(run, answer, &by),
    };
    let raw = match answer.raw {
        true => format!(
            " Raw: with the delays of pickfs itself, which make some row over {margin} slower."
        ),
        false => String::new(),
    };
    let others = both.and_then(|(group, panel)| told::not_ranked(group, panel, &answer.metric));
    let less = panel.and_then(|panel| told::survives_less(panel, answer));
    Ending {
        end: answer.end,
        panel: answer.panel.clone(),
        sentence: format!("{sentence}.{raw}{}", others.or(less).unwrap_or_default()),
        survives: told::class(panel, answer),
        turn: panel.and_then(|panel| turn(panel, answer)),
        cure: (answer.end == AnswerEnd::NoAnswer).then(|| cure(run, Some(answer))),
        ..told::told(run, both, answer)
    }
}

/// Levels that are numbers say nothing without their axis: `neighbour_rate 0 and 200`.
pub fn named(run: &RunRecord, labels: &[String]) -> String {
    let is_number = |label: &String| label.starts_with(|first: char| first.is_ascii_digit());
    let compare = &run.plan.design.compare;
    let are_numbers = !labels.is_empty() && labels.iter().all(is_number);
    let is_axis = are_numbers && compare != BY_CANDIDATE;
    let axis = if is_axis { format!("{compare} ") } else { String::new() };
    format!("{axis}{}", list(labels))
}

/// `1.41x faster than ext4 (95 % interval 1.24 to 1.63; 15 blocks)`.
fn ahead(first: &str, lead: &Lead) -> String {
    let Lead { over, ratio, interval, blocks } = lead;
    let blocks = blocks_text(*blocks);
    let Some(ratio) = ratio else {
        return format!("{over} failed or missed its rate where {first} did not ({blocks})");
    };
    let interval = interval.map_or_else(String::new, |(low, high)| {
        let (low, high) = (times(low), times(high));
        format!("95 % interval {} to {}; ", low.trim_end_matches('x'), high.trim_end_matches('x'))
    });
    format!("{} faster than {over} ({interval}{blocks})", times(*ratio))
}

/// `median service time of durable appends, sync=fdatasync`.
pub fn asked(answer: &Answer) -> String {
    let view = if answer.raw { View::RawResponse } else { answer.metric.view };
    let words = metric_words(&Metric { view, ..answer.metric.clone() });
    if answer.panel.is_empty() { words } else { format!("{words}, {}", answer.panel) }
}

/// `by median service time of durable appends, sync=fdatasync, on this loop image`.
fn by(panel: Option<&Panel>, answer: &Answer) -> String {
    let mut text = format!("by {}", asked(answer));
    let is_left = |row: &&Row| answer.left.contains(&row.label);
    let rows = panel.map_or(&[][..], |panel| &panel.rows);
    let Some(row) = rows.iter().find(is_left) else { return text };
    if let Some(class) = told::class(panel, answer) {
        text.push_str(&format!(", of what {}", survival(class)));
    }
    format!("{text}, on this {}", row.backing)
}

fn open(run: &RunRecord, answer: &Answer, by: &str) -> String {
    if let Some((text, gate)) = gate_of(answer) {
        return gated(text, gate, by);
    }
    let (left, blocks) = (named(run, &answer.left), blocks_text(answer.blocks));
    let more = more(run, answer).unwrap_or_else(|| "no clear order shows in them".into());
    let verb = if answer.blocks == 1 { "does" } else { "do" };
    let out: Vec<String> = answer.out.iter().map(|out| out.label.clone()).collect();
    let rest = if out.is_empty() { "" } else { &format!(". Not the fastest: {}", list(&out)) };
    format!("{blocks} {verb} not decide between {left} {by}; {more}{rest}")
}

/// `about 6 more would`, of blocks; nothing where no number of them is known.
pub fn more(run: &RunRecord, answer: &Answer) -> Option<String> {
    match answer.more_blocks {
        _ if is_cut(run) => Some("the run was cut short".into()),
        more => more.map(|more| format!("about {more} more would")),
    }
}

fn is_cut(run: &RunRecord) -> bool {
    run.ended.as_ref().is_none_or(|end| matches!(end.how.as_str(), "interrupted" | "failed"))
}

/// Whether two choices were asked for; memory beside others is a floor.
fn asks(run: &RunRecord, panels: &[Panel]) -> bool {
    let design = &run.plan.design;
    let is_floor = |label: &str| {
        let mut rows = panels.iter().flat_map(|panel| &panel.rows);
        rows.any(|row| row.label == label && row.backing == BackingKind::Memory)
    };
    let choices = match run.plan.axes.iter().find(|axis| axis.name == design.compare) {
        Some(axis) if design.compare != BY_CANDIDATE => axis.levels.len(),
        _ => run.plan.candidates.iter().filter(|choice| !is_floor(&choice.label)).count(),
    };
    !design.primary.is_empty() && choices >= 2
}

fn nothing_compared(run: &RunRecord, panels: &[Panel], only: Option<&Metric>) -> Ending {
    let rows = || panels.iter().flat_map(|panel| &panel.rows);
    let measured = |row: &&Row| row.trials > 0 && row.backing != BackingKind::Memory;
    let by = only.map_or_else(String::new, |metric| format!(" by {}", metric_words(metric)));
    let mut asked = run.plan.design.primary.iter().filter(|m| only.is_none_or(|one| one == *m));
    let lacking = asked.find(|metric| {
        let of_op = |row: &&Row| row.ops.iter().any(|op| metric.names(&op.op));
        rows().filter(measured).any(|row| of_op(&row))
            && !rows().filter(measured).any(|row| is_carried(&row.ops, metric))
    });
    let failed = rows().find_map(|row| Some((&row.label, row.failure.as_ref()?)));
    let failed = failed.filter(|_| only.is_none() || lacking.is_none());
    let blocks = run.blocks();
    let design = &run.plan.design;
    let disturbed = run.ended.as_ref().filter(|end| end.how == DISTURBED);
    let is_whole = failed.is_none() && disturbed.is_none() && !is_cut(run);
    let apart = told::apart(run, panels).filter(|_| only.is_none() && is_whole);
    if let Some(why) = apart {
        return Ending { end: AnswerEnd::NoAnswer, sentence: why, ..Ending::default() };
    }
    let (why, option) = match (rows().filter(measured).count(), failed, lacking) {
        _ if disturbed.is_some() => {
            (disturbed.map_or_else(String::new, |end| end.note.clone()), None)
        }
        (0, None, _) => ("no trial was finished".to_owned(), None),
        (_, Some((label, reason)), _) => {
            (format!("there is nothing to compare{by}; {label} failed: {reason}"), None)
        }
        (_, _, Some(metric)) if overload(run, metric).is_some() => {
            (overload(run, metric).unwrap_or_default(), lower_rate(run).map(|rate| ("--set", rate)))
        }
        (_, _, Some(metric)) if blocks < BLOCKS_MIN => {
            let [_, needed] = enough_blocks(&run.plan, &run.cells);
            let are = if blocks == 1 { "is" } else { "are" };
            let (done, blocks) = (blocks, blocks_text(blocks));
            let name = metric_words(metric);
            let why = format!("{blocks} {are} too few to compare by {name}");
            (why, Some(more_of(design, done, needed)))
        }
        (_, _, Some(metric)) => {
            let measure = format!("{:.0}s", (4.0 * run.plan.timing.measure_s).ceil());
            let why = format!("too few slow calls carry {}", metric_words(metric));
            (why, Some(("--measure", measure)))
        }
        _ => (format!("there is nothing to compare{by}"), None),
    };
    let cure = match option.filter(|_| !is_cut(run)) {
        Some((name, value)) => {
            Cure { command: command(&run.plan, &[(name, Some(&value))]), duration_s: None }
        }
        None => cure(run, None),
    };
    let sentence = format!("{why}.");
    Ending { end: AnswerEnd::NoAnswer, sentence, cure: Some(cure), ..Ending::default() }
}

/// A race that had time for `done` blocks gets the time for `needed`; a planned run gets blocks.
fn more_of(design: &Design, done: u32, needed: u32) -> (&'static str, String) {
    match design.stop {
        StopRule::Decided { budget_s, .. } => {
            let share = f64::from(needed) / f64::from(done.max(1));
            ("--budget", format!("{:.0}m", (share.max(2.0) * budget_s / 60.0).ceil()))
        }
        _ => ("--blocks", needed.max(design.blocks).to_string()),
    }
}

/// At the farthest quantile that turns the order: who is ahead there.
fn turn(panel: &Panel, answer: &Answer) -> Option<String> {
    let Statistic::Quantile(own) = answer.metric.statistic else { return None };
    let is_asked = |row: &&Row| {
        answer.left.contains(&row.label) || answer.out.iter().any(|out| out.label == row.label)
    };
    let rows: Vec<&Row> = panel.rows.iter().filter(is_asked).collect();
    let op = |row: &Row| row.ops.iter().find(|op| is_of(op, &answer.metric)).cloned();
    let at = |q: f64| -> Option<String> {
        let value = |row: &&Row| {
            let found = op(row)?.quantiles.into_iter().find(|found| (found.q - q).abs() < 1e-9)?;
            found.carried.then_some((row.label.clone(), found.value_ns.median))
        };
        let mut values: Vec<(String, f64)> = rows.iter().filter_map(value).collect();
        values.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (first, ns) = values.first()?;
        let best = values.iter().find(|(label, _)| answer.left.contains(label))?;
        let turns = !answer.left.contains(first) && best.1 > ns * (1.0 + answer.margin);
        turns.then(|| {
            let (label, other) = best;
            format!(
                "at {} {first} is ahead: {} against {} of {label} (not tested)",
                quantile_name(q),
                duration_text(*ns),
                duration_text(*other)
            )
        })
    };
    TURNS.into_iter().filter(|q| (q - own).abs() > 1e-9).find_map(at)
}

fn is_of(op: &OpSummary, metric: &Metric) -> bool {
    metric.names(&op.op) && op.view == metric.view
}

/// What goes on: a run that was cut short is resumed where its whole file is, a planned one takes more blocks, a race more time.
fn cure(run: &RunRecord, answer: Option<&Answer>) -> Cure {
    if is_cut(run) && run.environment.get(REDUCED_KEY).is_none() {
        return Cure { command: retyped::resume(run), duration_s: None };
    }
    if let Some((_, gate)) = answer.and_then(gate_of) {
        return cure_of(run, gate);
    }
    let Some(answer) = answer else {
        return Cure { command: command(&run.plan, &[]), duration_s: None };
    };
    if let StopRule::Decided { budget_s, .. } = run.plan.design.stop {
        let budget = format!("{:.0}m", (2.0 * budget_s / 60.0).ceil());
        let command = command(&run.plan, &[("--budget", Some(&budget))]);
        return Cure { command, duration_s: Some(2.0 * budget_s) };
    }
    let done = run.blocks();
    let blocks = answer.more_blocks.map(|more| done + more);
    match blocks.filter(|blocks| *blocks <= BLOCKS_PROPOSED_MAX.max(2 * done)) {
        Some(blocks) => {
            let last = run.trials.last();
            let spent_s = last.map_or(0.0, |trial| trial.started_s + trial.elapsed_s);
            let duration_s = spent_s * f64::from(blocks) / f64::from(done.max(1));
            let command = command(&run.plan, &[("--blocks", Some(&blocks.to_string()))]);
            Cure { command, duration_s: Some(duration_s) }
        }
        None => Cure {
            command: command(&run.plan, &[("--until-decided", None), ("--blocks", Some(""))]),
            duration_s: Some(UNTIL_DECIDED_S),
        },
    }
}

pub const UNTIL_DECIDED_S: f64 = 2_700.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_record::Durability;
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

    fn asked(blocks: u32, candidates: Vec<FakeCandidate>) -> RunRecord {
        let primary =
            FakeRun::default().primary.into_iter().filter(|m| m.op == "durable").collect();
        let mut run = fake_run(&FakeRun { blocks, candidates, primary, ..FakeRun::default() });
        run.plan.typed = ["sudo", "./run", "quick", "--fs", "ext4,xfs"].map(String::from).into();
        run
    }

    fn pair(durable_ns: f64, noise: f64) -> Vec<FakeCandidate> {
        let named = ["ext4", "xfs"].map(|name| FakeCandidate::new(name, 500.0, durable_ns));
        named.map(|candidate| FakeCandidate { noise, ..candidate }).into()
    }

    fn first(run: &RunRecord) -> Ending {
        findings(run).endings.remove(0)
    }

    #[test]
    fn a_winner_is_named_with_its_ratio_against_the_next_one() {
        let found = first(&asked(12, FakeRun::default().candidates));
        assert_eq!((found.end, found.cure.as_ref()), (AnswerEnd::Winner, None));
        let made = ["mkfs.xfs DEVICE", "mount -t xfs -o noatime DEVICE DIRECTORY"];
        assert_eq!(found.commands, made);
        let begin = "WINNER xfs:noatime: 1.3";
        let said = found.line();
        assert!(said.starts_with(begin), "{said}");
        assert!(said.contains("x faster than ext4:noatime (95 % interval 1."), "{said}");
        let end = "; 12 blocks) by median service time of durable appends, sync=fdatasync, on this loop image.";
        assert!(said.ends_with(end), "{said}");
    }

    #[test]
    fn equal_ones_are_named_with_the_margin() {
        let found = first(&asked(60, pair(150_000.0, 0.01)));
        let said = found.line();
        assert!(said.starts_with("EQUAL ext4 and xfs are equal within 5 % (60 blocks)"), "{said}");
        assert!(found.cure.is_none() && found.commands.is_empty(), "of equals none is advised");
    }

    #[test]
    fn an_open_end_proposes_the_typed_words_with_more_blocks() {
        let mut run = asked(4, FakeRun::default().candidates);
        let found = first(&run);
        assert!(found.line().starts_with("NO ANSWER 4 blocks do not decide between "), "{found:?}");
        let command = found.cure.expect("a command").command;
        let blocks = command.strip_prefix("sudo ./run quick --fs ext4,xfs --blocks ");
        assert!(blocks.is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n > 4)), "{command}");
        run.plan.typed = Vec::new();
        let command = first(&run).cure.expect("a command").command;
        assert!(command.starts_with("pickfs journal --blocks "), "{command}");
        run.ended = None;
        run.plan.typed = ["pickfs", "run", "quick", "--out", "a b/"].map(String::from).into();
        let command = first(&run).cure.expect("a command").command;
        assert_eq!(command, format!("pickfs --resume 'a b'/{}", run.name));
        run.environment.put(REDUCED_KEY, "logs");
        assert!(!first(&run).cure.expect("a command").command.contains("--resume"));
    }

    #[test]
    fn disturbed_blocks_that_do_not_decide_say_so() {
        let mishaps = (1..=4)
            .flat_map(|block| ["ext4", "xfs"].map(|name| (name, block)))
            .map(|(name, block)| Mishap::disturbed(name, "fdatasync", block, 1.0))
            .collect();
        let run = fake_run(&FakeRun {
            blocks: 4,
            candidates: pair(150_000.0, 0.1),
            syncs: vec!["fdatasync".into()],
            mishaps,
            ..FakeRun::default()
        });
        let found = first(&run);
        let said = "NO ANSWER other virtual machines took the CPU in 4 of 4 blocks of ext4 and xfs; these are not ranked by \
                    median service time of durable appends, on this loop image; run it again when they are quiet.";
        assert_eq!(found.line(), said);
        assert_eq!(found.cure.expect("a command").command, "pickfs journal");
    }

    #[test]
    fn nothing_to_compare_is_no_answer_only_where_a_comparison_was_asked_for() {
        let mishaps = vec![Mishap::failed("xfs", "", 0, "ENOSPC")];
        let mut run =
            fake_run(&FakeRun { candidates: pair(150_000.0, 0.1), mishaps, ..FakeRun::default() });
        let said = first(&run).line();
        assert_eq!(said, "NO ANSWER there is nothing to compare; xfs failed: ENOSPC.");
        run.plan.candidates.pop();
        assert_eq!(findings(&run).endings, []);
    }

    #[test]
    fn rows_that_survive_different_failures_are_named_and_no_run_is_proposed() {
        let mut run = asked(12, pair(150_000.0, 0.1));
        for cell in run.cells.iter_mut().filter(|cell| cell.candidate.label == "xfs") {
            cell.durability = Durability::ProcessCrash;
        }
        let found = first(&run);
        let said = "NO ANSWER ext4 survives a power loss and xfs survives a process crash: only rows that survive \
                    the same failures are compared. Choose mount options and a sync that give them the same.";
        assert_eq!((found.line().as_str(), found.cure), (said, None));
    }

    /// A question that was settled early ran in fewer blocks than the run: its interval is of those.
    #[test]
    fn a_winner_says_the_blocks_that_hold_both_rows() {
        let mut run = asked(30, FakeRun::default().candidates);
        let floors: Vec<_> =
            run.cells.iter().filter(|cell| cell.candidate.label == "tmpfs").cloned().collect();
        run.trials
            .retain(|trial| trial.block <= 16 || floors.iter().any(|floor| floor.id == trial.cell));
        let answer = findings(&run).answers.remove(0);
        assert_eq!((answer.end, answer.blocks), (AnswerEnd::Winner, 16));
        assert!(first(&run).line().contains("; 16 blocks)"), "{}", first(&run).line());
    }

    #[test]
    fn another_order_in_the_tail_is_told() {
        let mut candidates = pair(150_000.0, 0.01);
        candidates[0].durable_ns = 200_000.0;
        candidates[1].tail = 1.2;
        let turn = first(&asked(15, candidates)).turn.expect("the tail turns");
        assert!(turn.starts_with("at p99.9 ext4 is ahead: "), "{turn}");
        assert!(turn.ends_with(" of xfs (not tested)"), "{turn}");
    }
}
