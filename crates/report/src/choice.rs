use pickfs_analysis::objective::{Choice, ChoiceVerdict, Objective};

use crate::terminal::{
    colour::Paint,
    paragraph::{hanging, wrap},
    plain,
};

const MARGIN: usize = 10;

pub fn choice_screen(choice: &Choice, columns: usize, colour: bool) -> String {
    let paint = Paint { on: colour };
    let columns = columns.max(60);
    let mut out = head(choice, columns, paint);
    for verdict in &choice.verdicts {
        out.push('\n');
        out.push_str(&told(verdict, columns, paint));
    }
    if !choice.missing.is_empty() {
        out.push('\n');
        for missing in &choice.missing {
            let line = hanging("MISSING", &plain(missing), MARGIN, columns);
            out.push_str(&paint.warning(&line, "MISSING"));
        }
    }
    out
}

fn head(choice: &Choice, columns: usize, paint: Paint) -> String {
    let objective = &choice.objective;
    let what = match objective.stands_for.is_empty() {
        true => objective.name.clone(),
        false => format!("{}: {}", objective.name, objective.stands_for),
    };
    let mut out = paint.bold(&hanging("for", &plain(&what), MARGIN, columns));
    if !objective.stands_for.is_empty() {
        let line = hanging("", &formula(objective), MARGIN, columns);
        out.push_str(&paint.faint(&line));
    }
    if !choice.needs.is_empty() {
        let needs: Vec<String> = choice.needs.iter().map(ToString::to_string).collect();
        out.push_str(&hanging("needs", &plain(&needs.join(", ")), MARGIN, columns));
    }
    out
}

fn formula(objective: &Objective) -> String {
    let parts: Vec<String> = objective
        .parts
        .iter()
        .map(|part| match &part.workload {
            Some(workload) => format!("{workload}: {}", part.formula),
            None => part.formula.to_string(),
        })
        .collect();
    parts.join("; ")
}

fn told(verdict: &ChoiceVerdict, columns: usize, paint: Paint) -> String {
    let mut out = String::new();
    for (index, sentence) in verdict.sentences.iter().enumerate() {
        let name = if index == 0 { "VERDICT" } else { "" };
        let line = hanging(name, &plain(sentence), MARGIN, columns);
        out.push_str(&match verdict.best.is_empty() {
            true => paint.warning(&line, name),
            false => paint.strong(&line, name),
        });
    }
    for (name, lines) in [("on", &verdict.conditions), ("CHANGES", &verdict.would_change)] {
        for (index, text) in lines.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            out.push_str(&paint.name(&hanging(name, &plain(text), MARGIN, columns), name));
        }
    }
    out
}

pub fn objectives_screen(objectives: &[Objective], columns: usize) -> String {
    let columns = columns.max(60);
    let mut out = String::new();
    for objective in objectives {
        out.push_str(&format!("{}\n", objective.name));
        for text in [&objective.stands_for, &formula(objective)] {
            for line in wrap(text, columns.saturating_sub(4)) {
                out.push_str(&format!("    {line}\n"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::terminal::colour::colour_of;
    use pickfs_analysis::{
        articles::Source,
        findings,
        objective::{Facts, choose, objective, objectives},
    };
    use pickfs_testkit::{FakeRun, fake_run};

    fn screen(text: &str, colour: bool) -> String {
        let run = fake_run(&FakeRun { blocks: 9, ..FakeRun::default() });
        let found = findings(&run);
        let source = Source { run: &run, findings: &found };
        let facts = Facts { origins: &BTreeMap::new(), features: None };
        let needs = ["journal".parse().expect("a condition")];
        let choice = choose(&objective(text).expect("an objective"), &needs, &[source], &facts);
        choice_screen(&choice, 90, colour)
    }

    #[test]
    fn the_verdict_stands_first_and_no_line_is_too_long() {
        let text = screen("journal", false);
        assert!(
            text.starts_with("for       journal: a journal that is only appended to"),
            "{text}"
        );
        assert!(text.contains("\nneeds     journal\n"), "{text}");
        assert!(
            text.contains("\nVERDICT   For journal (sync=none) on this loop image: ext4:noatime."),
            "{text}"
        );
        assert!(text.contains("\nCHANGES   "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
        assert!(screen("journal", true).chars().any(|mark| colour_of(mark).is_some()));
    }

    #[test]
    fn what_is_missing_is_told() {
        let text = screen("all-round", false);
        assert_eq!(text.matches("MISSING").count(), 5, "{text}");
        assert!(text.contains("no run of the workload column was given"), "{text}");
    }

    #[test]
    fn every_objective_is_listed_with_its_formula() {
        let text = objectives_screen(&objectives(), 80);
        assert!(text.contains("journal tail\n    a journal that must not stall"), "{text}");
        assert!(
            text.contains("    journal: durable|append.p99 + durable|append.p99.9\n"),
            "{text}"
        );
    }
}
