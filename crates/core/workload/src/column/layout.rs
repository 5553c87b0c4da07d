//! How a column stands in its file: three layouts, as kdb+ writes them. The facts are from KX's
//! documentation and from readers of such files that others wrote.
//!
//! ```text
//! Elements (fixed width)          0     2     3          4      8              16
//!                                 | FE 20 | type | attribute | 0 0 0 0 | count, 64 bit | elements ...
//!
//! PlainSymbols                    0     2     3          4               8
//!                                 | FF 01 | 0B | attribute | count, 32 bit | "abcd\0efgh\0" ...
//!
//! EnumeratedSymbols               0     2        16             4080  4082 4083       4088            4096
//!                                 | FD 20 | 0 ... | domain, name | 0 .. | 14 | attribute | count, 64 bit | indexes ...
//! ```
//!
//! All numbers are little-endian. Elements begin 16 bytes into a page, which decides how many pages a
//! block of them touches. Plain symbols cannot be mapped: whoever wants one reads them all. The domain
//! of enumerated ones is a file of plain symbols.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use super::symbols::SYMBOL_LETTERS;
use crate::fault::Fault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    None,
    Sorted,
    /// Equal ones stand together.
    Parted = 3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Longs,
    Floats,
    PlainSymbols,
    EnumeratedSymbols,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub attribute: Attribute,
    /// Elements; stale after appends through a handle.
    pub count: u64,
}

const DOMAIN_NAME: &[u8] = b"sym";
/// Bytes in front of the elements of the enumerated layout.
const PAGE_HEADER_BYTES: usize = 4096;
/// The type of enumerated symbols stands in the last 16 bytes of the header.
const ENUMERATED_TYPE_OFFSET_BYTES: usize = PAGE_HEADER_BYTES - 14;

impl Layout {
    pub fn header_bytes(self) -> usize {
        match self {
            Layout::Longs | Layout::Floats => 16,
            Layout::PlainSymbols => 8,
            Layout::EnumeratedSymbols => PAGE_HEADER_BYTES,
        }
    }

    /// Of one element; of symbols that this workload writes.
    pub fn element_bytes(self) -> u64 {
        if self == Layout::PlainSymbols { SYMBOL_LETTERS as u64 + 1 } else { 8 }
    }

    /// Of a whole column.
    pub fn file_bytes(self, elements: u64) -> u64 {
        self.header_bytes() as u64 + elements * self.element_bytes()
    }

    pub fn count_field(self) -> std::ops::Range<usize> {
        match self {
            Layout::Longs | Layout::Floats => 8..16,
            Layout::PlainSymbols => 4..8,
            Layout::EnumeratedSymbols => PAGE_HEADER_BYTES - 8..PAGE_HEADER_BYTES,
        }
    }

    fn attribute_offset_bytes(self) -> usize {
        if self == Layout::EnumeratedSymbols { PAGE_HEADER_BYTES - 13 } else { 3 }
    }

    /// A count of plain symbols keeps its lower 32 bits.
    pub fn header(self, attribute: Attribute, count: u64) -> Vec<u8> {
        let header = Header { attribute, count };
        (0..self.header_bytes()).map(|offset| self.header_byte(&header, offset)).collect()
    }

    #[inline]
    fn header_byte(self, header: &Header, offset: usize) -> u8 {
        let field = self.count_field();
        if field.contains(&offset) {
            return header.count.to_le_bytes()[offset - field.start];
        }
        if offset == self.attribute_offset_bytes() {
            return header.attribute as u8;
        }
        match (self, offset) {
            (Layout::Longs | Layout::Floats, 0) => 0xfe,
            (Layout::PlainSymbols, 0) => 0xff,
            (Layout::EnumeratedSymbols, 0) => 0xfd,
            (Layout::PlainSymbols, 1) => 0x01,
            (_, 1) => 0x20,
            (Layout::Longs, 2) => 0x07,
            (Layout::Floats, 2) => 0x09,
            (Layout::PlainSymbols, 2) => 0x0b,
            (Layout::EnumeratedSymbols, 16..19) => DOMAIN_NAME[offset - 16],
            (Layout::EnumeratedSymbols, ENUMERATED_TYPE_OFFSET_BYTES) => 0x14,
            _ => 0,
        }
    }

    pub fn parse(self, bytes: &[u8]) -> Result<Header, String> {
        let (found_bytes, header_bytes) = (bytes.len(), self.header_bytes());
        let short = || format!("has {found_bytes} bytes, and the header alone has {header_bytes}");
        let found = bytes.get(..header_bytes).ok_or_else(short)?;
        let byte = found[self.attribute_offset_bytes()];
        let mut known = [Attribute::None, Attribute::Sorted, Attribute::Parted].into_iter();
        let attribute = known.find(|attribute| *attribute as u8 == byte);
        let attribute = attribute.ok_or_else(|| format!("attribute {byte:#04x} is not known"))?;
        let mut count = [0; 8];
        let field = self.count_field();
        count[..field.len()].copy_from_slice(&found[field]);
        let header = Header { attribute, count: u64::from_le_bytes(count) };
        let expected = |at: usize| self.header_byte(&header, at);
        match found.iter().enumerate().find(|(at, byte)| **byte != expected(*at)) {
            None => Ok(header),
            Some((at, found)) => Err(format!(
                "byte {at} of the header is {found:#04x} instead of {:#04x}",
                expected(at)
            )),
        }
    }

    /// Where it has 16 bytes or fewer nothing is allocated.
    pub(super) fn read(self, file: &File, path: &Path) -> Result<Header, Fault> {
        let (mut short, mut long) = ([0; 16], Vec::new());
        let bytes = if self.header_bytes() <= short.len() {
            &mut short[..self.header_bytes()]
        } else {
            long.resize(self.header_bytes(), 0);
            &mut long[..]
        };
        file.read_exact_at(bytes, 0).map_err(Fault::io("read the header of", path))?;
        self.parse(bytes).map_err(|error| wrong(path, error))
    }
}

pub(super) fn wrong(path: &Path, what: impl std::fmt::Display) -> Fault {
    Fault::Wrong { what: format!("{} {what}", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [Layout; 4] =
        [Layout::Longs, Layout::Floats, Layout::PlainSymbols, Layout::EnumeratedSymbols];

    #[test]
    fn each_byte_of_the_headers_is_where_the_picture_has_it() {
        let long = Layout::Longs.header(Attribute::None, 2047);
        assert_eq!(long, [0xfe, 0x20, 7, 0, 0, 0, 0, 0, 0xff, 7, 0, 0, 0, 0, 0, 0]);
        let float = Layout::Floats.header(Attribute::Sorted, 1 << 33);
        assert_eq!(float, [0xfe, 0x20, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        let plain = Layout::PlainSymbols.header(Attribute::Parted, 0x0102_0304);
        assert_eq!(plain, [0xff, 1, 0x0b, 3, 4, 3, 2, 1]);
        let page = Layout::EnumeratedSymbols.header(Attribute::Sorted, 9);
        assert_eq!((page.len(), &page[..2], &page[16..20]), (4096, &b"\xfd "[..], &b"sym\0"[..]));
        assert_eq!(page[4080..], [0, 0, 20, 1, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert!(page[19..4082].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_was_written_is_read_and_every_damaged_byte_is_found() {
        for layout in LAYOUTS {
            let whole = layout.header(Attribute::Parted, 123_456);
            assert_eq!(whole.len(), layout.header_bytes());
            let header = Header { attribute: Attribute::Parted, count: 123_456 };
            assert_eq!(layout.parse(&[&whole[..], &[1, 2, 3]].concat()), Ok(header));
            for at in 0..whole.len() {
                let mut bytes = whole.clone();
                bytes[at] ^= 0x40;
                let said = layout.parse(&bytes);
                if at == layout.attribute_offset_bytes() {
                    assert_eq!(said.unwrap_err(), "attribute 0x43 is not known");
                } else if !layout.count_field().contains(&at) {
                    let error = said.unwrap_err();
                    assert!(error.starts_with(&format!("byte {at} of the header is ")), "{error}");
                }
            }
        }
        let error = Layout::Longs.parse(&[0xfe; 15]).unwrap_err();
        assert_eq!(error, "has 15 bytes, and the header alone has 16");
    }
}
