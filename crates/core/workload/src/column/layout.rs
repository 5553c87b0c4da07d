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

use crate::fault::Fault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementType {
    Long,
    Float,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    None,
    Sorted,
    Unique,
    /// Equal ones stand together.
    Parted,
    /// An index over all values exists.
    Grouped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Elements(ElementType),
    PlainSymbols,
    EnumeratedSymbols,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub attribute: Attribute,
    /// Elements; stale after appends through a handle.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error("has {found_bytes} bytes, and the header alone has {header_bytes}")]
    Short { found_bytes: usize, header_bytes: usize },
    #[error("byte {offset_bytes} of the header is {found:#04x} instead of {expected:#04x}")]
    Byte { offset_bytes: usize, found: u8, expected: u8 },
    #[error("attribute {found:#04x} is not known")]
    Attribute { found: u8 },
}

pub const DOMAIN_NAME: &str = "sym";
/// Bytes in front of the elements of the enumerated layout.
const PAGE_HEADER_BYTES: usize = 4096;
/// The type of enumerated symbols stands in the last 16 bytes of the header.
const ENUMERATED_TYPE_OFFSET_BYTES: usize = PAGE_HEADER_BYTES - 14;

impl Attribute {
    const ALL: [Attribute; 5] = [
        Attribute::None,
        Attribute::Sorted,
        Attribute::Unique,
        Attribute::Parted,
        Attribute::Grouped,
    ];

    fn byte(self) -> u8 {
        self as u8
    }
}

impl ElementType {
    fn byte(self) -> u8 {
        match self {
            ElementType::Long => 0x07,
            ElementType::Float => 0x09,
        }
    }
}

impl Layout {
    pub fn header_bytes(self) -> usize {
        match self {
            Layout::Elements(_) => 16,
            Layout::PlainSymbols => 8,
            Layout::EnumeratedSymbols => PAGE_HEADER_BYTES,
        }
    }

    pub fn count_field(self) -> std::ops::Range<usize> {
        match self {
            Layout::Elements(_) => 8..16,
            Layout::PlainSymbols => 4..8,
            Layout::EnumeratedSymbols => PAGE_HEADER_BYTES - 8..PAGE_HEADER_BYTES,
        }
    }

    fn attribute_offset_bytes(self) -> usize {
        match self {
            Layout::EnumeratedSymbols => PAGE_HEADER_BYTES - 13,
            _ => 3,
        }
    }

    /// A count of plain symbols keeps its lower 32 bits.
    pub fn header(self, header: Header) -> Vec<u8> {
        (0..self.header_bytes()).map(|offset| self.header_byte(&header, offset)).collect()
    }

    #[inline]
    fn header_byte(self, header: &Header, offset: usize) -> u8 {
        let field = self.count_field();
        if field.contains(&offset) {
            return header.count.to_le_bytes()[offset - field.start];
        }
        if offset == self.attribute_offset_bytes() {
            return header.attribute.byte();
        }
        match (self, offset) {
            (Layout::Elements(_), 0) => 0xfe,
            (Layout::PlainSymbols, 0) => 0xff,
            (Layout::EnumeratedSymbols, 0) => 0xfd,
            (Layout::PlainSymbols, 1) => 0x01,
            (_, 1) => 0x20,
            (Layout::Elements(element), 2) => element.byte(),
            (Layout::PlainSymbols, 2) => 0x0b,
            (Layout::EnumeratedSymbols, 16..) if offset < 16 + DOMAIN_NAME.len() => {
                DOMAIN_NAME.as_bytes()[offset - 16]
            }
            (Layout::EnumeratedSymbols, ENUMERATED_TYPE_OFFSET_BYTES) => 0x14,
            _ => 0,
        }
    }

    pub fn parse(self, bytes: &[u8]) -> Result<Header, LayoutError> {
        let (found_bytes, header_bytes) = (bytes.len(), self.header_bytes());
        let found = bytes.get(..header_bytes);
        let found = found.ok_or(LayoutError::Short { found_bytes, header_bytes })?;
        let byte = found[self.attribute_offset_bytes()];
        let attribute = Attribute::ALL.into_iter().find(|attribute| attribute.byte() == byte);
        let attribute = attribute.ok_or(LayoutError::Attribute { found: byte })?;
        let mut count = [0; 8];
        let field = self.count_field();
        count[..field.len()].copy_from_slice(&found[field]);
        let header = Header { attribute, count: u64::from_le_bytes(count) };
        let expected = |offset: usize| self.header_byte(&header, offset);
        match found.iter().enumerate().find(|(offset, byte)| **byte != expected(*offset)) {
            None => Ok(header),
            Some((offset_bytes, found)) => {
                let expected = expected(offset_bytes);
                Err(LayoutError::Byte { offset_bytes, found: *found, expected })
            }
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
        self.parse(bytes).map_err(|error| wrong(path, &error))
    }
}

pub(super) fn wrong(path: &Path, what: &dyn std::fmt::Display) -> Fault {
    Fault::Wrong { what: format!("{} {what}", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [Layout; 4] = [
        Layout::Elements(ElementType::Long),
        Layout::Elements(ElementType::Float),
        Layout::PlainSymbols,
        Layout::EnumeratedSymbols,
    ];

    #[test]
    fn each_byte_of_the_headers_is_where_the_picture_has_it() {
        let header = |layout: Layout, attribute, count| layout.header(Header { attribute, count });
        let long = header(Layout::Elements(ElementType::Long), Attribute::None, 2047);
        assert_eq!(long, [0xfe, 0x20, 7, 0, 0, 0, 0, 0, 0xff, 7, 0, 0, 0, 0, 0, 0]);
        let float = header(Layout::Elements(ElementType::Float), Attribute::Sorted, 1 << 33);
        assert_eq!(float, [0xfe, 0x20, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
        let plain = header(Layout::PlainSymbols, Attribute::Parted, 0x0102_0304);
        assert_eq!(plain, [0xff, 1, 0x0b, 3, 4, 3, 2, 1]);
        let page = header(Layout::EnumeratedSymbols, Attribute::Grouped, 9);
        assert_eq!(
            (page.len(), &page[..2], &page[16..20]),
            (4096, &[0xfd, 0x20][..], &b"sym\0"[..])
        );
        assert_eq!(page[4080..], [0, 0, 20, 4, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert!(page[19..4082].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_was_written_is_read() {
        for layout in LAYOUTS {
            for attribute in Attribute::ALL {
                let header = Header { attribute, count: 123_456 };
                let mut bytes = layout.header(header);
                assert_eq!(bytes.len(), layout.header_bytes());
                bytes.extend([1, 2, 3]);
                assert_eq!(layout.parse(&bytes), Ok(header));
            }
        }
    }

    #[test]
    fn every_damaged_byte_outside_attribute_and_count_is_found() {
        for layout in LAYOUTS {
            let whole = layout.header(Header { attribute: Attribute::None, count: 5 });
            for at in 0..whole.len() {
                if at == layout.attribute_offset_bytes() || layout.count_field().contains(&at) {
                    continue;
                }
                let mut bytes = whole.clone();
                bytes[at] ^= 0x40;
                let error = layout.parse(&bytes).unwrap_err();
                assert!(
                    matches!(error, LayoutError::Byte { offset_bytes, .. } if offset_bytes == at)
                );
            }
        }
    }

    #[test]
    fn short_files_and_unknown_attributes_are_told() {
        let layout = Layout::Elements(ElementType::Long);
        let error = layout.parse(&[0xfe; 15]).unwrap_err();
        assert_eq!(error.to_string(), "has 15 bytes, and the header alone has 16");
        let mut bytes = layout.header(Header { attribute: Attribute::None, count: 0 });
        bytes[3] = 9;
        assert_eq!(layout.parse(&bytes).unwrap_err().to_string(), "attribute 0x09 is not known");
        bytes[..4].copy_from_slice(&[0xfe, 0x20, 9, 0]);
        let error = layout.parse(&bytes).unwrap_err().to_string();
        assert_eq!(error, "byte 2 of the header is 0x09 instead of 0x07");
    }
}
