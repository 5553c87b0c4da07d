use crate::tunables::text_if_any;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Cpu,
    Io,
    Memory,
}

/// Time in which some task waited, since boot, in microseconds; `None` where the kernel does not keep it.
pub fn stalled_us(resource: Resource) -> Option<u64> {
    let name = match resource {
        Resource::Cpu => "cpu",
        Resource::Io => "io",
        Resource::Memory => "memory",
    };
    total_of_some(&text_if_any(Path::new("/proc/pressure").join(name))?)
}

fn total_of_some(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_is_read() {
        let text = "some avg10=1.72 avg60=0.93 avg300=0.84 total=8469133\n\
                    full avg10=1.65 avg60=0.89 avg300=0.81 total=8240923\n";
        assert_eq!(total_of_some(text), Some(8_469_133));
        assert_eq!(total_of_some(""), None);
    }
}
