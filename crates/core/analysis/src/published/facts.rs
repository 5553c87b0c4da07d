//! Facts: one published number each, with where it stood.
//!
//! ```text
//! # lines of the source
//! processes,table,split,test_type,label,file_system,statistic,value,unit
//! 64,write,high-impact,write disk,write float large,ext4,rate,11133,MB/s
//! ```

use pickfs_record::phase::Heat;
use serde::Deserialize;

pub const GEOMETRIC_MEAN: &str = "GEOMETRIC MEAN";
pub const MAX_RATIO: &str = "MAX RATIO";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    Rate,
    /// The reference's rate divided by this one's: above 1, the reference is faster.
    Ratio,
    Cpu,
    LatencyMax,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    pub processes: u32,
    /// The table that it stood in: `write`, `read`, `bonnie`.
    pub table: String,
    /// The part of that table: `high-impact`, `less critical`, `cold`, `hot`, or a group of phases.
    pub split: String,
    /// The source's own class of the test; may be empty.
    pub test_type: String,
    pub label: String,
    pub file_system: String,
    pub statistic: Statistic,
    /// The number as it was printed; empty where none was.
    #[serde(rename = "value")]
    pub printed: String,
    pub unit: String,
}

impl Fact {
    pub fn value(&self) -> Option<f64> {
        self.printed.parse().ok()
    }

    /// The numbers that would have been printed like this one: it, give or take half of its last digit.
    pub fn rounded_from(&self) -> Option<(f64, f64)> {
        let value = self.value()?;
        let decimals = self.printed.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 * 10f64.powi(-(decimals as i32));
        Some(((value - half).max(0.0), value + half))
    }

    /// Cold or hot, where the table's part says it.
    pub fn heat(&self) -> Option<Heat> {
        match self.split.as_str() {
            "cold" => Some(Heat::Cold),
            "hot" => Some(Heat::Hot),
            _ => None,
        }
    }

    /// Whether the source multiplied it with the letters of a sync command.
    pub fn counts_a_command(&self) -> bool {
        self.table == "write" && self.label.starts_with("sync ")
    }

    /// Whether the source derived it from the other rows of its table.
    pub fn is_summary(&self) -> bool {
        self.label == GEOMETRIC_MEAN || self.label == MAX_RATIO
    }
}

pub fn read(text: &str) -> Result<Vec<Fact>, csv::Error> {
    csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(text.as_bytes())
        .deserialize()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "processes,table,split,test_type,label,file_system,statistic,value,unit\n";

    fn fact(line: &str) -> Fact {
        read(&format!("# a source\n{HEAD}{line}\n")).expect("a legal line").remove(0)
    }

    #[test]
    fn a_printed_number_stands_for_all_that_round_to_it() {
        let ratio = fact("1,write,high-impact,,a,ext4,ratio,1.10,");
        assert_eq!(ratio.value(), Some(1.1));
        let (low, high) = ratio.rounded_from().expect("printed");
        assert!((low - 1.095).abs() < 1e-12 && (high - 1.105).abs() < 1e-12);
        let zero = fact("1,write,high-impact,,a,ext4,ratio,0.0,");
        assert_eq!(zero.rounded_from(), Some((0.0, 0.05)));
    }

    #[test]
    fn heat_and_values_are_read() {
        let cold = fact("64,read,cold,,\"mmap, random read 4k\",xfs,latency_max,9545,ms");
        assert_eq!((cold.heat(), cold.value()), (Some(Heat::Cold), Some(9545.0)));
        assert_eq!(cold.label, "mmap, random read 4k");
        let none = fact("1,bonnie,one file,,seeks,hpfs,latency_max,,");
        assert_eq!(none.value(), None);
    }

    #[test]
    fn a_wrong_line_is_an_error() {
        assert!(read(&format!("{HEAD}x,write,,,a,ext4,rate,1,MB/s\n")).is_err());
        assert!(read(&format!("{HEAD}1,write,,,a,ext4,speed,1,MB/s\n")).is_err());
        assert!(read("processes,table\n1,write\n").is_err());
    }
}
