//! A fleet: what hosts as units say to each question, then each host's own blocks.

use pickfs_analysis::fleet::{Fleet, FleetAnswer, HostRatio};
use pickfs_record::{
    finding::{AnswerEnd, Claim},
    quantity::counted,
};

use crate::{
    choices::role,
    document::{Cell, Column, Kind, Node, Table, facts},
    wording::{claimed, factors, metric_name, percent, times},
};

pub(crate) fn fleet_nodes(fleet: &Fleet) -> Vec<Node> {
    let end = |answer: &FleetAnswer| {
        Node::End(role(answer.end), answer.end.to_string(), answer.sentence.clone())
    };
    let mut nodes: Vec<Node> = fleet.answers.iter().map(end).collect();
    nodes.extend(fleet.unanswered.iter().map(|why| {
        let end = AnswerEnd::NoAnswer;
        Node::End(role(end), end.to_string(), why.clone())
    }));
    for answer in &fleet.answers {
        let title = format!("{} {}", metric_name(&answer.metric), answer.panel);
        nodes.push(Node::Heading(3, title.trim_end().into()));
        nodes.push(Node::Table(table(fleet, answer)));
        nodes.extend(notes(answer).map(|text| Node::Note(text.into())));
    }
    let hosts = fleet.hosts.iter().map(|host| {
        let size = [(host.runs, "run"), (host.blocks, "block")];
        let size = size.map(|(count, thing)| counted(count.into(), thing)).join(", ");
        let facts = host.facts.iter().map(|(key, value)| format!(", {key} {value}"));
        (&host.name, size + &facts.collect::<String>())
    });
    nodes.push(Node::Section("fleet", "Hosts".into(), vec![facts(hosts)]));
    if !fleet.refused.is_empty() {
        let refused = facts(fleet.refused.iter().map(|(run, why)| (run, why.as_str())));
        nodes.push(Node::Section("refused", "Not judged with them".into(), vec![refused]));
    }
    nodes
}

/// A row a host, the best beside each other candidate, then the hosts as units.
fn table(fleet: &Fleet, answer: &FleetAnswer) -> Table {
    let mut table = Table::new([("", Kind::Word)]);
    for pair in &answer.pairs {
        let head = format!("{} against {}", answer.best, pair.other);
        table.columns.push(Column::new(head, Kind::Number));
    }
    for host in &fleet.hosts {
        let own = answer.pairs.iter().map(|pair| {
            let own = pair.hosts.iter().find(|own| own.host == host.name);
            own.map_or_else(|| "-".into(), cell)
        });
        table.row([Cell::from(host.name.as_str())].into_iter().chain(own));
    }
    let typical = answer.pairs.iter().map(|pair| cell(&pair.typical));
    table.row([Cell::from("the typical host")].into_iter().chain(typical));
    table.notes.push(
        "Medians over the blocks of a host with their intervals; hosts share an error of 5 %. The typical host: \
         median over hosts, each of them one value, and 5 % for itself."
            .into(),
    );
    table
}

fn cell(own: &HostRatio) -> Cell {
    let Some(ratio) = own.ratio else { return "-".into() };
    let words = match own.claim {
        Claim::Open => format!("{}, undecided", times(ratio)),
        told => claimed(told, ratio),
    };
    Cell::from(words).under(own.interval.map(|(low, high)| match own.claim {
        Claim::Slower => factors(1.0 / high, 1.0 / low),
        _ => factors(low, high),
    }))
}

/// How far hosts differ, and what goes with it.
fn notes(answer: &FleetAnswer) -> impl Iterator<Item = String> + '_ {
    answer.pairs.iter().filter_map(|pair| {
        let ((low, high), (tau, share)) = (pair.range?, pair.between?);
        let (range, tau, share) = (factors(low, high), percent(tau), percent(share));
        let mut text = format!(
            "{} against {}: {range} over hosts, which differ by {tau} % beyond what their blocks explain (tau), {share} % \
             of their variance (I2).",
            answer.best, pair.other
        );
        if !pair.goes_with.is_empty() {
            let facts = pair.goes_with.join("; ");
            text += &format!(" Parted by {facts}: nobody assigned that by lot, so a hint and no claim.");
        }
        Some(text)
    })
}

#[cfg(test)]
mod tests {
    use crate::{comparison::comparison_document, document::terminal::terminal};
    use pickfs_analysis::{
        compare::{Named, compare},
        findings,
    };
    use pickfs_record::{RunRecord, environment::MACHINE_KEY};
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    fn host(number: u64) -> RunRecord {
        let is_opposite = number == 3;
        let xfs_ns = if is_opposite { 300e3 } else { 120e3 };
        let candidates = [("ext4", 200e3), ("xfs", xfs_ns)];
        let mut run = fake_run(&FakeRun {
            name: format!("h{number}"),
            seed: number,
            blocks: 15,
            candidates: candidates.map(|(name, ns)| FakeCandidate::new(name, 500.0, ns)).into(),
            reference: "ext4".into(),
            syncs: vec!["fdatasync".into()],
            ..FakeRun::default()
        });
        run.environment.put(MACHINE_KEY, number);
        run.environment.put("kernel.release", if is_opposite { "5.10" } else { "6.18" });
        run
    }

    fn screen(hosts: u64) -> String {
        let runs: Vec<_> = (1..=hosts).map(host).collect();
        let found: Vec<_> = runs.iter().map(findings).collect();
        let named = runs.iter().zip(&found);
        let named: Vec<_> =
            named.map(|(run, findings)| Named { name: &run.name, run, findings }).collect();
        terminal(&comparison_document(&compare(&named), &named), 100, false)
    }

    #[test]
    fn the_fleet_comes_first_then_each_host_and_what_parts_them() {
        let shown = screen(7);
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = [
            "NO ANSWER 7 hosts do not decide between ext4 and xfs by ",
            "By their own blocks xfs is ahead of ext4 on 6 of 7 hosts, behind on 1 (h3).",
            "xfs against ext4",
            "h1 1.",
            "h3 1.",
            "the typical host 1.",
            "(tau)",
            "kernel.release: 6.18 against 5.10",
            "h7 1 run, 15 blocks, kernel.release 6.18",
        ];
        let place = |part| words.find(part).unwrap_or_else(|| panic!("{part}\n{shown}"));
        assert!(parts.map(place).is_sorted(), "{shown}");
        assert!(words.contains("x slower [") && !words.contains("2 / 1"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        let two = screen(2);
        assert!(two.contains("too few hosts") && two.contains("2 / 1"), "{two}");
    }
}
