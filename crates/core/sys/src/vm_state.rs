use crate::refused::Refused;
use crate::tunables;
use std::path::Path;

/// A field that the kernel does not give is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub total_bytes: u64,
    /// What programs could get without swapping.
    pub available_bytes: u64,
    pub swap_total_bytes: u64,
}

impl Memory {
    pub fn now() -> Result<Self, Refused> {
        Ok(parse_memory(&tunables::text(Path::new("/proc/meminfo"))?))
    }
}

/// Page counters of /proc/vmstat that tell how write-back goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WritebackPages {
    pub dirty_pages: u64,
    pub writeback_pages: u64,
    /// Dirty pages at which writers are slowed.
    pub dirty_threshold_pages: u64,
    /// Dirty pages at which write-back begins.
    pub background_threshold_pages: u64,
}

impl WritebackPages {
    pub fn now() -> Result<Self, Refused> {
        Ok(parse_writeback(&tunables::text(Path::new("/proc/vmstat"))?))
    }

    /// Nothing more than this waits to be written or is being written.
    pub fn waiting_bytes(&self) -> u64 {
        (self.dirty_pages + self.writeback_pages) * rustix::param::page_size() as u64
    }
}

fn parse_memory(text: &str) -> Memory {
    let bytes = |name| line_value(text, name, ':').unwrap_or(0).saturating_mul(1024);
    Memory {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        swap_total_bytes: bytes("SwapTotal"),
    }
}

fn parse_writeback(text: &str) -> WritebackPages {
    let pages = |name| line_value(text, name, ' ').unwrap_or(0);
    WritebackPages {
        dirty_pages: pages("nr_dirty"),
        writeback_pages: pages("nr_writeback"),
        dirty_threshold_pages: pages("nr_dirty_threshold"),
        background_threshold_pages: pages("nr_dirty_background_threshold"),
    }
}

fn line_value(text: &str, name: &str, separator: char) -> Option<u64> {
    let rest = text
        .lines()
        .find_map(|line| line.split_once(separator).filter(|(found, _)| *found == name))?
        .1;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_read_in_bytes_and_names_are_whole() {
        let memory = parse_memory("MemTotal:  2 kB\nSwapTotalTmp: 9 kB\nMemAvailable: 4 kB\n");
        assert_eq!((memory.total_bytes, memory.available_bytes), (2048, 4096));
        assert_eq!(memory.swap_total_bytes, 0);
    }

    #[test]
    fn page_counters_are_told_apart_by_their_whole_name() {
        let pages = parse_writeback("nr_dirty_threshold 7\nnr_dirty 5\nnr_writeback 2\n");
        assert_eq!((pages.dirty_pages, pages.dirty_threshold_pages), (5, 7));
        assert_eq!(pages.waiting_bytes(), 7 * rustix::param::page_size() as u64);
    }

    #[test]
    fn the_running_kernel_is_understood() {
        assert!(Memory::now().unwrap().total_bytes > 0);
        assert!(WritebackPages::now().unwrap().dirty_threshold_pages > 0);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text: String) {
            let _ = (parse_memory(&text), parse_writeback(&text), line_value(&text, "", ' '));
        }
    }
}
