//! KX Nano's table of throughputs, read strictly: `HOST-throughput.psv` of a result folder, `FS.psv` of its comparator
//! of file systems and of `report --format psv`.
//!
//! ```text
//! numproc|threadnr|os |testtype  |test             |qexpression|accuracy|throughput|unit|iostat_read_throughput|...
//! 64     |8       |l64|write disk|write float large|           |98.12   |11133.00  |MB/s|...
//! ```
//!
//! Columns are found by their names. The file system stands nowhere in it: the file is named after it. Rows of one
//! test are repetitions: their median counts. Tests of the processor alone and of metadata are left out.

use super::{
    facts::{Fact, Statistic},
    own::{LINES_MAX, OwnTableError, Repeated},
    table::{Published, find},
};

const PROCESSES_MAX: u32 = 1 << 16;
/// All columns, in their order.
pub const HEAD: &str = "numproc|threadnr|os|testtype|test|qexpression|accuracy|throughput|unit|\
    iostat_read_throughput|iostat_write_throughput|iostat_readwrite_throughput\n";
const READ: [&str; 5] = ["numproc", "testtype", "test", "throughput", "unit"];
/// Not in the published tables, which name the rest.
const AGGREGATE: &str = "aggregate int huge";

/// Whether it is the table of throughputs, and not another one of a result folder.
pub fn is_throughput(text: &str) -> bool {
    let head: Vec<&str> = text.lines().next().unwrap_or_default().split('|').collect();
    READ.iter().all(|column| head.contains(column))
}

pub fn read(file_system: &str, text: &str) -> Result<Vec<Fact>, OwnTableError> {
    let mut reader = csv::ReaderBuilder::new().delimiter(b'|').from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| line(1, &error))?;
    let mut places = [0; READ.len()];
    for (place, column) in places.iter_mut().zip(READ) {
        let found = head.iter().position(|name| name.trim() == column);
        *place = found.ok_or_else(|| {
            let has =
                "KX Nano's table of throughputs has numproc, testtype, test, throughput and unit";
            OwnTableError::File(format!("no column `{column}`; {has}"))
        })?;
    }
    let mut repeated = Repeated::default();
    for (index, record) in reader.records().enumerate() {
        if index >= LINES_MAX {
            return Err(OwnTableError::TooLong);
        }
        let record = record.map_err(|error| line(index as u64 + 2, &error))?;
        let at = record.position().map_or(index as u64 + 2, csv::Position::line);
        if let Some(fact) = fact(file_system, at, places.map(|place| record[place].trim()))? {
            repeated.add(fact);
        }
    }
    match repeated.medians() {
        facts if facts.is_empty() => {
            Err(OwnTableError::File("no row of KX Nano's disk tests in it".into()))
        }
        facts => Ok(facts),
    }
}

/// Of the files of one user, each read by [`read`].
pub fn published(name: &str, facts: Vec<Fact>) -> Published {
    let about = "KX Nano's throughputs; rows of one test are repetitions, their median counts";
    Published { name: name.into(), about: about.into(), reference: None, is_own: true, facts }
}

fn line(line: u64, error: &csv::Error) -> OwnTableError {
    OwnTableError::Line { line, text: error.to_string().escape_debug().collect() }
}

/// Nothing for a test that a column run cannot have, and where the original printed no figure.
fn fact(
    file_system: &str,
    line: u64,
    [processes, test_type, label, rate, unit]: [&str; 5],
) -> Result<Option<Fact>, OwnTableError> {
    let wrong = |column: &str, found: &str, wanted| {
        OwnTableError::value(line, column.into(), found, wanted)
    };
    let Some((table, split)) = place(label, test_type) else { return Ok(None) };
    let count = processes.parse().ok().filter(|count| (1..=PROCESSES_MAX).contains(count));
    let processes = count.ok_or_else(|| wrong("numproc", processes, "a number of processes"))?;
    if rate.is_empty() {
        return Ok(None);
    }
    if !["MB/s", "MiB/s"].contains(&unit) {
        return Err(wrong("unit", unit, "MB/s or MiB/s"));
    }
    let value: Option<f64> = rate.parse().ok();
    let value = value.filter(|value| value.is_finite() && *value >= 0.0 && rate.len() <= 30);
    let value = value.ok_or_else(|| wrong("throughput", rate, "a rate of 0 or more"))?;
    Ok(Some(Fact {
        processes,
        table: table.into(),
        split: split.into(),
        test_type: test_type.into(),
        label: label.into(),
        file_system: file_system.into(),
        statistic: Statistic::Rate,
        printed: value.to_string(),
        unit: unit.into(),
    }))
}

/// Where the published tables have a test: reads of one name are cold or hot by their type.
fn place(label: &str, test_type: &str) -> Option<(&'static str, &'static str)> {
    if label == AGGREGATE {
        return Some(("read", "hot"));
    }
    let known = &find("kx-2025-rhel9").ok()?.facts;
    let is_it = |fact: &&Fact| {
        fact.label == label && (fact.heat().is_none() || fact.test_type == test_type)
    };
    known.iter().find(is_it).map(|fact| (fact.table.as_str(), fact.split.as_str()))
}

#[cfg(test)]
mod tests {
    use pickfs_record::Heat;
    use proptest::prelude::*;

    use super::*;

    /// Our own figures in the shape of the original.
    fn text(rows: &[(u32, &str, &str, &str)]) -> String {
        let row = |(processes, test_type, test, rate): &(u32, &str, &str, &str)| {
            format!("{processes}|8|l64|{test_type}|{test}|\"a|b\"|99.9|{rate}|MB/s|1|2|3\n")
        };
        rows.iter().map(row).fold(HEAD.to_owned(), |text, row| text + &row)
    }

    #[test]
    fn rows_are_cold_or_hot_by_their_type_and_repetitions_have_a_median() {
        let facts = read(
            "xfs",
            &text(&[
                (1, "read disk", "random read 4k", "21.5"),
                (1, "read mem", "random read 4k", "1300"),
                (64, "write disk", "write float large", "300"),
                (64, "write disk", "write float large", "100"),
                (64, "write disk", "write float large", "120.25"),
                (64, "read mem", "max int large", "9000"),
                (64, "cpu read mem", "aggregate int huge", "800"),
                (64, "write disk", "write int huge", ""),
            ]),
        );
        let table = published("mine", facts.expect("legal"));
        assert_eq!((table.facts.len(), table.file_systems()), (4, vec!["xfs"]));
        let rate = |at| table.number(at, "xfs", Statistic::Rate);
        assert_eq!(rate((1, "random read 4k", Some(Heat::Cold))), Some(21.5));
        assert_eq!(rate((1, "random read 4k", Some(Heat::Hot))), Some(1300.0));
        assert_eq!(rate((64, "write float large", None)), Some(120.25));
        assert_eq!(rate((64, "aggregate int huge", Some(Heat::Hot))), Some(800.0));
    }

    #[test]
    fn errors_name_the_line_the_column_and_the_value() {
        let error = |text: &str| read("xfs", text).expect_err("not legal").to_string();
        assert!(error("").starts_with("no column `numproc`"));
        assert_eq!(error(HEAD), "no row of KX Nano's disk tests in it");
        let row = |processes, rate| text(&[(processes, "write disk", "disk sort", rate)]);
        assert_eq!(error(&row(1, "-3")), "line 2, throughput: `-3` is not a rate of 0 or more");
        assert!(error(&row(1, "inf")).contains("`inf` is not a rate"));
        assert!(error(&row(0, "3")).starts_with("line 2, numproc: `0` is not"));
        assert!(
            error(&row(1, "3").replace("MB/s", "GB/s")).contains("`GB/s` is not MB/s or MiB/s")
        );
        assert!(error(&row(1, "3").replace("|1|2|3", "")).starts_with("line 2: "));
        let long = text(&vec![(1, "write disk", "disk sort", "1"); LINES_MAX + 1]);
        assert!(error(&long).starts_with("more than 10000 lines"));
    }

    #[test]
    fn other_tables_of_a_result_folder_are_told_apart() {
        assert!(is_throughput(HEAD));
        assert!(!is_throughput("threadnr|os|testtype|testid|test|qexpression|repeat\n"));
        assert!(!is_throughput(""));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,300}") {
            let _ = read("x", &text);
        }

        #[test]
        fn no_damaged_table_makes_it_panic_and_no_figure_is_nonsense(
            at in 0usize..200,
            put in "[-+.,|\"0-9a-z\n ]{0,6}",
        ) {
            let mut text = text(&[(1, "write disk", "disk sort", "12.5"), (1, "read mem", "random read 4k", "7")]);
            let at = HEAD.len() + at % (text.len() - HEAD.len());
            text.replace_range(at..=at, &put);
            for fact in read("x", &text).into_iter().flatten() {
                let value = fact.value().expect("facts hold numbers");
                prop_assert!(value.is_finite() && value >= 0.0, "{fact:?}");
            }
        }
    }
}
