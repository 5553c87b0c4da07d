use crate::tunables::{self, TunableError, text_if_any};
use std::path::Path;

/// Average number of processes that ran or waited for a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadAverage {
    pub minutes_1: f64,
    pub minutes_5: f64,
    pub minutes_15: f64,
}

pub fn load_average() -> Result<LoadAverage, TunableError> {
    let path = Path::new("/proc/loadavg");
    let text = tunables::text(path)?;
    let numbers: Vec<f64> = text.split(' ').take(3).filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [minutes_1, minutes_5, minutes_15] => Ok(LoadAverage { minutes_1, minutes_5, minutes_15 }),
        _ => {
            Err(TunableError::Unexpected { path: path.to_owned(), text, expected: "three numbers" })
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Cpu,
    Io,
    Memory,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stalled {
    pub percent_10s: f64,
    pub percent_60s: f64,
    pub percent_300s: f64,
    pub total_us: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Time in which some task waited.
    pub some: Stalled,
    /// Time in which all tasks waited; not defined for processors.
    pub full: Option<Stalled>,
}

/// `None` where the kernel does not keep it.
pub fn pressure(resource: Resource) -> Option<Pressure> {
    let name = match resource {
        Resource::Cpu => "cpu",
        Resource::Io => "io",
        Resource::Memory => "memory",
    };
    parse(&text_if_any(Path::new("/proc/pressure").join(name))?)
}

fn parse(text: &str) -> Option<Pressure> {
    let line = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(parse_line))
    };
    Some(Pressure { some: line("some")?, full: line("full") })
}

fn parse_line(line: &str) -> Stalled {
    let mut stalled = Stalled::default();
    for (name, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
        match name {
            "avg10" => stalled.percent_10s = value.parse().unwrap_or(0.0),
            "avg60" => stalled.percent_60s = value.parse().unwrap_or(0.0),
            "avg300" => stalled.percent_300s = value.parse().unwrap_or(0.0),
            "total" => stalled.total_us = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    stalled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_are_read() {
        let text = "some avg10=1.72 avg60=0.93 avg300=0.84 total=8469133\n\
                    full avg10=1.65 avg60=0.89 avg300=0.81 total=8240923\n";
        let pressure = parse(text).unwrap();
        assert_eq!((pressure.some.percent_10s, pressure.some.total_us), (1.72, 8_469_133));
        assert_eq!(pressure.full.unwrap().percent_300s, 0.81);
    }

    #[test]
    fn old_kernels_have_no_full_line_for_processors() {
        assert_eq!(parse("some avg10=0.00 total=1\n").unwrap().full, None);
        assert_eq!(parse(""), None);
    }
}
