//! bonnie++'s CSV lines, read strictly: formats 1.96, 1.97 and 1.98.
//!
//! ```text
//! 1.96, 1.97   version,program,name,concurrency,seed,size,chunk,              12 rates with %CPU ..., 12 latencies
//! 1.98         version,program,name,concurrency,seed,size,chunk,seeks,seekers,12 rates with %CPU ..., 12 latencies
//! ```
//!
//! The old formats have 48 fields, and 47 where the program skipped the one file (`-s 0`); 1.98
//! has 50. Between the rates of the one file and those of the small files stand five fields on
//! the files. `+++++` is a phase too short to be measured, an empty field one that did not run.
//! Lines of one name are repetitions: their median counts.

use super::{
    facts::{Fact, Statistic},
    own::{LINES_MAX, OwnTableError, Repeated, shortened},
    table::Published,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BonniePhase {
    /// The label of our workload `files`.
    pub label: &'static str,
    pub suite: &'static str,
    pub unit: &'static str,
}

const fn phase(label: &'static str, suite: &'static str, unit: &'static str) -> BonniePhase {
    BonniePhase { label, suite, unit }
}

pub const PHASES: [BonniePhase; 12] = [
    phase("char write", "one file", "KiB/s"),
    phase("block write", "one file", "KiB/s"),
    phase("rewrite", "one file", "KiB/s"),
    phase("char read", "one file", "KiB/s"),
    phase("block read", "one file", "KiB/s"),
    phase("seeks", "one file", "seeks/s"),
    phase("seq create", "sequential files", "files/s"),
    phase("seq stat", "sequential files", "files/s"),
    phase("seq delete", "sequential files", "files/s"),
    phase("ran create", "random files", "files/s"),
    phase("ran stat", "random files", "files/s"),
    phase("ran delete", "random files", "files/s"),
];

/// What the program prints for a phase too short to be measured.
pub const TOO_SHORT: &str = "+++++";

const ONE_FILE: usize = 6;
/// Fields between the two groups: number of files, sizes, directories, chunk.
const FILE_FIELDS: usize = 5;

/// Reads a file as a published table under a name of its own; the names in its lines are its file
/// systems.
pub fn read(name: &str, text: &str) -> Result<Published, OwnTableError> {
    let (mut repeated, mut lines) = (Repeated::default(), 0);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() || line.starts_with('#') || line.starts_with("format_version") {
            continue;
        }
        if lines >= LINES_MAX {
            return Err(OwnTableError::TooLong);
        }
        lines += 1;
        facts(index as u64 + 1, line)?.into_iter().for_each(|fact| repeated.add(fact));
    }
    let count = match lines {
        0 => {
            let text = "no line of bonnie++ CSV in it; each begins with 1.96, 1.97 or 1.98";
            return Err(OwnTableError::File(text.into()));
        }
        1 => "1 line".into(),
        lines => format!("{lines} lines"),
    };
    Ok(Published {
        name: name.into(),
        about: format!(
            "bonnie++ CSV, {count}; lines of one name are repetitions, their median counts"
        ),
        reference: None,
        is_own: true,
        facts: repeated.medians(),
    })
}

/// None of a phase that did not run or was too short.
fn facts(line: u64, text: &str) -> Result<Vec<Fact>, OwnTableError> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let places = places(line, &fields)?;
    let name = fields[2];
    if name.is_empty() {
        let text = "no machine name in field 2; name the file system there, as in bonnie++ -m xfs";
        return Err(OwnTableError::Line { line, text: text.into() });
    }
    let mut facts = Vec::new();
    for (index, phase) in PHASES.iter().enumerate() {
        let at = match index < ONE_FILE {
            true => places.one_file.map(|first| first + 2 * index),
            false => Some(places.files + 2 * (index - ONE_FILE)),
        };
        let (rate, cpu_percent) = match at {
            Some(at) => {
                (rate(line, phase.label, fields[at])?, percent(line, phase.label, fields[at + 1])?)
            }
            None => (None, None),
        };
        let latency_us = latency_us(line, phase.label, fields[places.latencies + index])?;
        let all = [
            (Statistic::Rate, rate, phase.unit),
            (Statistic::Cpu, cpu_percent, "%"),
            (Statistic::LatencyMax, latency_us, "us"),
        ];
        for (statistic, value, unit) in all {
            facts.extend(value.map(|value| fact(name, phase, statistic, (value, unit))));
        }
    }
    Ok(facts)
}

struct Places {
    one_file: Option<usize>,
    files: usize,
    latencies: usize,
}

fn places(line: u64, fields: &[&str]) -> Result<Places, OwnTableError> {
    let format = fields[0];
    let short = fields.len() == 47 && fields[5..18].iter().all(|field| field.is_empty());
    let (head, wanted, fits) = match format {
        "1.96" | "1.97" if short => (6, "48", true),
        "1.96" | "1.97" => (7, "48, or 47 without the one file", fields.len() == 48),
        "1.98" => (9, "50", fields.len() == 50),
        _ => {
            let text = format!("begins with `{}`; 1.96, 1.97 and 1.98 are read", shortened(format));
            return Err(OwnTableError::Line { line, text });
        }
    };
    if !fits {
        let text = format!("{} fields; format {format} has {wanted}", fields.len());
        return Err(OwnTableError::Line { line, text });
    }
    let files = head + 2 * ONE_FILE + FILE_FIELDS;
    let latencies = files + 2 * (PHASES.len() - ONE_FILE);
    Ok(Places { one_file: (!short).then_some(head), files, latencies })
}

fn rate(line: u64, label: &str, text: &str) -> Result<Option<f64>, OwnTableError> {
    if text.is_empty() || text == TOO_SHORT {
        return Ok(None);
    }
    let wanted = "a rate: digits, perhaps with a point, +++++ or nothing";
    let error = || OwnTableError::value(line, format!("rate of {label}"), text, wanted);
    number(text).map(Some).ok_or_else(error)
}

fn percent(line: u64, label: &str, text: &str) -> Result<Option<f64>, OwnTableError> {
    if text.is_empty() || text == "+++" || text == TOO_SHORT {
        return Ok(None);
    }
    let wanted = "a CPU share in per cent: digits, +++ or nothing";
    let error = || OwnTableError::value(line, format!("%CPU of {label}"), text, wanted);
    number(text).map(Some).ok_or_else(error)
}

/// Digits with at most one point; no sign, no exponent, no blank.
fn number(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.') && text.len() <= 20;
    let has_digit = text.starts_with(|c: char| c.is_ascii_digit());
    (plain && has_digit).then(|| text.parse().ok()).flatten()
}

fn latency_us(line: u64, label: &str, text: &str) -> Result<Option<f64>, OwnTableError> {
    if text.is_empty() {
        return Ok(None);
    }
    let wanted = "a latency: digits with us, ms or s, or nothing";
    let error = || OwnTableError::value(line, format!("latency of {label}"), text, wanted);
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(error)?;
    let factor = match &text[end..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return Err(error()),
    };
    let digits = number(&text[..end]).ok_or_else(error)?;
    Ok(Some(digits * factor))
}

fn fact(name: &str, phase: &BonniePhase, statistic: Statistic, (value, unit): (f64, &str)) -> Fact {
    Fact {
        processes: 1,
        table: "bonnie".into(),
        split: phase.suite.into(),
        test_type: String::new(),
        label: phase.label.into(),
        file_system: name.into(),
        statistic,
        printed: value.to_string(),
        unit: unit.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Our own figures in the order of the fields.
    const RATES: &str = ",,100,5,+++++,+++,,,200,3,50.5,1";
    const FILES: &str = "1000,5,2000,6,3000,7,1001,5,2001,6,3001,7";
    const LATENCIES: &str = ",10us,20ms,,30us,1s,1us,2us,3us,4us,5us,6us";

    fn line(format: &str) -> String {
        let seeks = if format == "1.98" { ",8192,5" } else { "" };
        format!("{format},2.00a,xfs,1,7,64M,{seeks},{RATES},16,,,,,{FILES},{LATENCIES}")
    }

    fn rate_of(text: &str, label: &str) -> Option<f64> {
        let table = read("x.csv", text).expect("legal");
        table.number((1, label, None), "xfs", Statistic::Rate)
    }

    #[test]
    fn the_three_formats_hold_the_same_figures() {
        for format in ["1.96", "1.97", "1.98"] {
            let text = line(format);
            assert_eq!(rate_of(&text, "block write"), Some(100.0), "{format}");
            assert_eq!(rate_of(&text, "rewrite"), None, "too short");
            assert_eq!(rate_of(&text, "char write"), None, "not run");
            assert_eq!(rate_of(&text, "seeks"), Some(50.5));
            assert_eq!(rate_of(&text, "seq create"), Some(1000.0));
            assert_eq!(rate_of(&text, "ran delete"), Some(3001.0));
            let table = read("x.csv", &text).expect("legal");
            let latency = |label| table.number((1, label, None), "xfs", Statistic::LatencyMax);
            assert_eq!((latency("rewrite"), latency("seeks")), (Some(20_000.0), Some(1e6)));
            let cpu = table.number((1, "seq stat", None), "xfs", Statistic::Cpu);
            assert_eq!(cpu, Some(6.0));
        }
    }

    /// The shape of a line of 1.96 with `-s 0`, with our own figures: one field fewer.
    #[test]
    fn an_old_line_without_the_one_file_has_47_fields() {
        let empty = ",".repeat(13);
        let text =
            format!("1.96,1.96,xfs,1,7,{empty}60,32,32,,,{FILES},,,,,,,1ms,2ms,3ms,4ms,5ms,6ms");
        assert_eq!(text.split(',').count(), 47);
        assert_eq!(rate_of(&text, "seq create"), Some(1000.0));
        assert_eq!(rate_of(&text, "block write"), None);
    }

    #[test]
    fn lines_of_one_name_are_repetitions() {
        let text = format!(
            "# a comment\nformat_version,bonnie_version,name\n{}\r\n\n{}\n{}\n",
            line("1.98"),
            line("1.98").replace(",100,5,", ",140,5,"),
            line("1.97").replace(",100,5,", ",300,5,"),
        );
        assert_eq!(rate_of(&text, "block write"), Some(140.0));
        assert!(read("x.csv", &text).expect("legal").about.contains("3 lines"));
    }

    fn error(text: &str) -> String {
        read("x.csv", text).expect_err("not legal").to_string()
    }

    #[test]
    fn errors_name_line_field_and_value() {
        assert!(error("").starts_with("no line of bonnie++ CSV"));
        assert_eq!(error("2,1.03e,host"), "line 1: begins with `2`; 1.96, 1.97 and 1.98 are read");
        let short = line("1.98").rsplit_once(',').expect("fields").0.to_string();
        assert_eq!(error(&short), "line 1: 49 fields; format 1.98 has 50");
        assert_eq!(
            error(&format!("{},1us", line("1.97"))),
            "line 1: 49 fields; format 1.97 has 48, or 47 without the one file"
        );
        let text = format!("{}\n{}", line("1.98"), line("1.98").replace(",100,5,", ",1e9,5,"));
        assert_eq!(
            error(&text),
            "line 2, rate of block write: `1e9` is not a rate: digits, perhaps with a point, +++++ \
             or nothing"
        );
        let text = line("1.98").replace(",20ms,", ",20 ms,");
        assert!(error(&text).starts_with("line 1, latency of rewrite: `20 ms` is not a latency"));
        let text = line("1.98").replace(",100,5,", ",100,-5,");
        assert!(error(&text).starts_with("line 1, %CPU of block write: `-5`"), "{}", error(&text));
        let text = line("1.98").replace(",xfs,", ",,");
        assert!(error(&text).contains("bonnie++ -m xfs"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,300}") {
            let _ = read("x.csv", &text);
        }

        #[test]
        fn no_damaged_line_makes_it_panic_and_no_figure_is_nonsense(
            format in 0usize..3,
            at in 0usize..60,
            put in "[-+.,0-9a-z ]{0,6}",
        ) {
            let text = line(["1.96", "1.97", "1.98"][format]);
            let mut fields: Vec<&str> = text.split(',').collect();
            let at = at % fields.len();
            fields[at] = &put;
            if let Ok(table) = read("x.csv", &fields.join(",")) {
                for fact in &table.facts {
                    let value = fact.value().expect("facts hold numbers");
                    prop_assert!(value.is_finite() && value >= 0.0, "{fact:?}");
                }
            }
        }
    }
}
