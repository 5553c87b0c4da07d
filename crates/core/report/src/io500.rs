//! What of IO500 a run of ranks has rows for, by its names and with its means. IO500 is twelve parts of 300 s each, and half of them
//! are on one file or in one folder of all ranks: there is no score here.

use pickfs_analysis::summary::geometric_mean;
use pickfs_record::{
    Heat,
    finding::{Panel, PhaseCell, PhaseRow},
};

use crate::{
    Subject,
    document::{Cell, Column, Kind, Node, RowKind, Table},
};

struct Group {
    name: &'static str,
    unit: &'static str,
    per_unit: f64,
    /// IO500's name, and our phase.
    parts: &'static [[&'static str; 2]],
}

const GROUPS: [Group; 2] = [
    Group {
        name: "bandwidth",
        unit: "GiB/s",
        per_unit: (1_u64 << 30) as f64,
        parts: &[["ior-easy-write", "block write"], ["ior-easy-read", "block read"]],
    },
    Group {
        name: "metadata",
        unit: "kIOPS",
        per_unit: 1e3,
        parts: &[
            ["mdtest-easy-write", "seq create"],
            ["mdtest-easy-stat", "seq stat"],
            ["mdtest-easy-delete", "seq delete"],
        ],
    },
];

/// A rank would read what it wrote itself from its own cache; IO500's ranks read what others wrote.
const ONLY_COLD: &str = "block read";

const NOTE: &str = "Rates of all ranks together, medians over trials, each mean a geometric one of the parts above it. Each rank has a \
                    file or a folder of its own, and a phase its work instead of 300 s. Files have the contents and the syncs that \
                    the plan gives them; those of mdtest-easy are empty and not synced. A rank reads what it wrote itself, where \
                    IO500 has another one read it: a block read has a row only where it was cold, and a stat is from the rank's own \
                    cache unless that was dropped. ior-hard, mdtest-hard and find have no row here, so there is no score.";

/// Nothing where no ranks measured, or no phase is a part of it.
pub(crate) fn section(subject: &Subject) -> Option<Node> {
    subject.run.trials.iter().find(|trial| !trial.hosts.is_empty())?;
    let tables = subject.findings.panels.iter().filter_map(table).map(Node::Table);
    let tables: Vec<Node> = tables.collect();
    (!tables.is_empty()).then(|| Node::Section("io500", "Parts of IO500".into(), tables))
}

fn table(panel: &Panel) -> Option<Table> {
    let mut table = Table::new([("part", Kind::Word), ("phase", Kind::Word)]);
    let labels = panel.rows.iter().map(|row| Column::new(row.label.clone(), Kind::Number));
    table.columns.extend(labels);
    for group in &GROUPS {
        let found = |[part, phase]: &[&'static str; 2]| {
            let is_fair = |row: &&PhaseRow| *phase != ONLY_COLD || row.heat == Some(Heat::Cold);
            let row = panel.phases.iter().find(|row| row.phase == *phase).filter(is_fair)?;
            Some((*part, *phase, rates(row, group.per_unit)))
        };
        let found: Vec<_> = group.parts.iter().filter_map(found).collect();
        let cell = |rate: Option<f64>| match rate {
            Some(rate) => Cell::from(format!("{rate:.3} {}", group.unit)),
            None => "-".into(),
        };
        for (part, phase, rates) in &found {
            table.row(
                [Cell::from(*part), (*phase).into()]
                    .into_iter()
                    .chain(rates.iter().copied().map(cell)),
            );
        }
        let means = (0..panel.rows.len()).map(|row| {
            let all: Option<Vec<f64>> =
                found.iter().map(|(.., rates)| rates.get(row).copied().flatten()).collect();
            cell(all.and_then(|all| geometric_mean(&all)))
        });
        if found.len() > 1 {
            let cells = [Cell::from(format!("mean, {}", group.name)), "".into()];
            table.row_of(RowKind::Mean, cells.into_iter().chain(means));
        }
    }
    table.notes.push(NOTE.into());
    (!table.rows.is_empty()).then_some(table)
}

fn rates(row: &PhaseRow, per_unit: f64) -> Vec<Option<f64>> {
    let must_be_cold = row.phase == ONLY_COLD;
    let is_warm =
        |cell: &PhaseCell| must_be_cold && cell.flags.iter().any(|(flag, _)| flag == "not-cold");
    let rates = row.cells.iter().map(|cell| cell.rate.as_ref().filter(|_| !is_warm(cell)));
    rates.map(|rate| rate.map(|rate| rate.median / per_unit)).collect()
}

#[cfg(test)]
mod tests {
    use pickfs_analysis::findings;
    use pickfs_record::{
        RunRecord,
        record::{Flag, HostShare},
    };
    use pickfs_testkit::{FakePhasedRun, fake_phased_run};

    use super::*;
    use crate::document::Row;

    fn rows(run: &RunRecord) -> (Table, Vec<Vec<String>>) {
        let found = findings(run);
        let Some(Node::Section(_, _, mut nodes)) = section(&Subject::new(run, &found)) else {
            panic!("a section")
        };
        let Some(Node::Table(table)) = nodes.pop().filter(|_| nodes.is_empty()) else {
            panic!("one panel")
        };
        let words = |row: &Row| row.cells.iter().map(|cell| cell.text.words()).collect();
        let rows = table.rows.iter().map(words).collect();
        (table, rows)
    }

    fn run_with(heat: Option<Heat>) -> RunRecord {
        let mut asked = FakePhasedRun::files();
        asked.phases.iter_mut().filter(|one| one.phase == "block read").for_each(|read| {
            read.heat = heat;
        });
        fake_phased_run(&asked)
    }

    #[test]
    fn ranks_have_the_parts_of_io500_that_they_measured_and_no_score() {
        let mut run = run_with(Some(Heat::Cold));
        let found = findings(&run);
        assert!(section(&Subject::new(&run, &found)).is_none(), "no ranks measured");
        run.trials[0].hosts = vec![HostShare::default()];
        let (table, rows) = rows(&run);
        let parts: Vec<&str> = rows.iter().map(|row| &*row[0]).collect();
        let expected = ["ior-easy-write", "ior-easy-read", "mean, bandwidth", "mdtest-easy-write"];
        assert_eq!((&parts[..4], parts.last()), (&expected[..], Some(&"mean, metadata")));
        let rate = |row: usize, column: usize| {
            rows[row][column].split(' ').next().and_then(|text| text.parse::<f64>().ok())
        };
        for column in 2..table.columns.len() {
            let [write, read, mean] = [0, 1, 2].map(|row| rate(row, column).expect("a rate"));
            assert!((mean - (write * read).sqrt()).abs() < 0.002, "{rows:?}");
        }
        let fat16 = table.columns.iter().position(|column| column.head.words() == "fat16");
        assert_eq!(rows[3][fat16.expect("it is there")], "-", "it cannot hold the files");
        assert_eq!(rows[rows.len() - 1][fat16.expect("it is there")], "-");
    }

    #[test]
    fn a_block_read_from_the_ranks_own_cache_is_no_part_of_io500() {
        let mut run = run_with(None);
        run.trials[0].hosts = vec![HostShare::default()];
        let parts: Vec<String> = rows(&run).1.into_iter().map(|mut row| row.remove(0)).collect();
        assert_eq!(parts[..2], ["ior-easy-write", "mdtest-easy-write"]);
        let mut run = run_with(Some(Heat::Cold));
        run.trials[0].hosts = vec![HostShare::default()];
        let reads = run.trials.iter_mut().flat_map(|trial| &mut trial.phases);
        reads.filter(|phase| phase.phase == "block read").for_each(|read| {
            read.flags = vec![Flag { kind: "not-cold".into(), text: String::new() }];
        });
        let read = rows(&run).1.remove(1);
        assert!(read[0] == "ior-easy-read" && read[2..].iter().all(|rate| rate == "-"), "{read:?}");
    }
}
