//! A choice: the verdict first, then what it stands on and what would change it.
//!
//! ```text
//! pickfs choose RUN [RUN ...] --for "journal tail" [--need durability=power-loss] [--need reflink]
//! ```

use pickfs_analysis::objective::{Choice, ChoiceVerdict, Objective};

use crate::{
    choices,
    document::{Document, Kind, Node, Role, Table, Text, facts, under_one_name},
};

/// A choice.
pub fn choice_document(choice: &Choice) -> Document {
    let mut nodes: Vec<Node> = choice.verdicts.iter().map(told).collect();
    if nodes.is_empty() {
        let said = format!("For {} nothing is chosen: no run holds it.", choice.objective.name);
        nodes.push(facts([("NO ANSWER", Role::NoAnswer.of(said))]));
    }
    nodes.push(head(choice));
    let missing = choice.missing.iter().map(|missing| ("MISSING", Role::NoAnswer.of(missing)));
    nodes.extend((!choice.missing.is_empty()).then(|| facts(missing)));
    Document { title: format!("For {}", choice.objective.name), nodes }
}

fn head(choice: &Choice) -> Node {
    let objective = &choice.objective;
    let mut rows = Vec::new();
    if objective.stands_for.is_empty() {
        rows.push(("for", Role::Strong.of(&objective.name)));
    } else {
        let what = format!("{}: {}", objective.name, objective.stands_for);
        rows.push(("for", Role::Strong.of(what)));
        rows.push(("", Role::Muted.of(formula(objective))));
    }
    if !choice.needs.is_empty() {
        let needs: Vec<String> = choice.needs.iter().map(ToString::to_string).collect();
        rows.push(("needs", needs.join(", ").into()));
    }
    facts(rows)
}

fn formula(objective: &Objective) -> String {
    let parts: Vec<String> = objective
        .parts
        .iter()
        .map(|part| {
            let at = part.at.iter().map(|(name, condition)| condition.of(name));
            let at: Vec<String> = at.collect();
            let colon = if at.is_empty() { "" } else { ": " };
            format!("{}{colon}{}", at.join(","), part.formula)
        })
        .collect();
    parts.join("; ")
}

fn told(verdict: &ChoiceVerdict) -> Node {
    let role = choices::role(verdict.end);
    let sentences = verdict.sentences.iter().map(|sentence| role.of(sentence));
    let plain = |texts: &[String]| texts.iter().map(Text::from).collect::<Vec<_>>();
    let word = verdict.end.to_string();
    let rows = under_one_name(&word, sentences)
        .chain(under_one_name("on", plain(&verdict.conditions)))
        .chain(under_one_name("CHANGES", plain(&verdict.would_change)));
    facts(rows.collect::<Vec<_>>())
}

/// The named objectives with what they stand for and their formulas.
pub fn objectives_document(objectives: &[Objective]) -> Document {
    let kind = Kind::Text;
    let mut table = Table::new([("objective", kind), ("stands for", kind), ("formula", kind)]);
    for objective in objectives {
        table.row([objective.name.clone(), objective.stands_for.clone(), formula(objective)]);
    }
    Document { title: "Objectives".into(), nodes: vec![Node::Table(table)] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{document::terminal::terminal, terminal::colour::colour_of};
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
        terminal(&choice_document(&choice), 90, colour)
    }

    #[test]
    fn the_verdict_stands_first_and_no_line_is_too_long() {
        let text = screen("journal", false);
        let first = "WINNER    For journal (sync=none) on this loop image: ext4:noatime.";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("\nfor       journal: a journal that is only appended to"), "{text}");
        assert!(text.contains("\nneeds     journal\n"), "{text}");
        assert!(text.contains("\nCHANGES   "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
        assert!(screen("journal", true).chars().any(|mark| colour_of(mark).is_some()));
    }

    #[test]
    fn what_is_missing_is_told() {
        let text = screen("all-round", false);
        assert!(text.starts_with("NO ANSWER For all-round"), "{text}");
        assert!(!text.contains("WINNER"), "{text}");
        assert_eq!(text.matches("MISSING").count(), 5, "{text}");
        let none = screen("FIX round trip", false);
        let said = "NO ANSWER For FIX round trip nothing is chosen: no run holds it.";
        assert!(none.starts_with(said), "{none}");
        assert!(text.contains("no run of the workload column was given"), "{text}");
    }

    #[test]
    fn every_objective_is_listed_with_its_formula() {
        let text = terminal(&objectives_document(&objectives()), 80, false);
        assert!(text.contains("  journal tail\n    a journal that must not stall"), "{text}");
        assert!(
            text.contains(
                "       readers=0,workload=journal: durable|append with final sync|append.p99 +\n"
            ),
            "{text}"
        );
    }
}
