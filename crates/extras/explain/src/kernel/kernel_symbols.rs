//! Names of kernel functions by address, from /proc/kallsyms: addresses are zero there for whom
//! `kernel.kptr_restrict` keeps them from.

use std::io;

#[derive(Debug, Default)]
pub struct KernelSymbols {
    names: String,
    /// Address, and where its name begins in `names`; sorted.
    starts: Vec<(u64, u32)>,
}

/// A name further than this before an address does not belong to it.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

impl KernelSymbols {
    /// Empty where it hides its addresses.
    pub fn read() -> io::Result<KernelSymbols> {
        let text = std::fs::read("/proc/kallsyms")?;
        Ok(KernelSymbols::parse(&String::from_utf8_lossy(&text)))
    }

    pub fn parse(text: &str) -> KernelSymbols {
        let mut symbols = KernelSymbols::default();
        for (address, name) in text.lines().filter_map(function) {
            symbols.starts.push((address, symbols.names.len() as u32));
            symbols.names.push_str(name);
            symbols.names.push('\n');
        }
        symbols.starts.sort_by_key(|(address, _)| *address);
        symbols
    }

    /// Whether addresses are hidden from us.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The function that holds an address. Where several begin at one address, the first in the
    /// kernel's list.
    pub fn name(&self, address: u64) -> Option<&str> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let start = self.starts.get(after.checked_sub(1)?)?.0;
        if address - start > FUNCTION_BYTES_MAX {
            return None;
        }
        let first = self.starts.partition_point(|(other, _)| *other < start);
        self.names[self.starts[first].1 as usize..].lines().next()
    }
}

/// `ffffffff81000000 T _text`, with the module's name in brackets after it.
fn function(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
    (is_code && address != 0).then_some((address, words.next()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_belongs_to_the_function_before_it() {
        let text = "ffffffff81000400 t down_write\nffffffff81000100 T vfs_write\n\
                    ffffffff81000100 T ksys_alias\nffffffff81000300 D data\n\
                    ffffffffa0000000 t xfs_ilock\t[xfs]\n0000000000000000 T hidden\n";
        let symbols = KernelSymbols::parse(text);
        assert_eq!(symbols.name(0xffffffff81000100), Some("vfs_write"));
        assert_eq!(symbols.name(0xffffffff810003ff), Some("vfs_write"));
        assert_eq!(symbols.name(0xffffffff81000401), Some("down_write"));
        assert_eq!(symbols.name(0xffffffffa0000020), Some("xfs_ilock"));
        assert_eq!(symbols.name(0xffffffff81000000), None);
        assert_eq!(symbols.name(0xffffffff90000000), None);
    }

    #[test]
    fn hidden_addresses_leave_nothing() {
        assert!(KernelSymbols::parse("0000000000000000 T vfs_write\n").is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,300}", address: u64) {
            let _ = KernelSymbols::parse(&text).name(address);
        }
    }
}
