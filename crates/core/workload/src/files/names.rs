//! Names of many files, kept small: thirteen bytes a file for what is random in them, and four for
//! the order. A name is put together in a buffer when it is used.
//!
//! ```text
//! sequential   00000/ 00000003ff 62QnAt0xZ05      directory, index in hexadecimal, random part
//! random       00001/ b 00000003ff                directory, random part, index
//! ```
//!
//! Names of ten to 22 bytes, the random part from nothing to twelve of 62 characters. Indices make
//! them unique, also where upper and lower case are one. The numbers come from the stream in the
//! order in which bonnie++ 2.00a takes them: for each file the length, then the characters.

use std::ffi::CStr;

use super::{rand::CRand, spread::Spread};

const INDEX_DIGITS: usize = 10;
const RANDOM_BYTES_MAX: usize = 12;
pub(super) const NAME_BYTES_MAX: usize = INDEX_DIGITS + RANDOM_BYTES_MAX;
/// With a mark before each.
pub(super) const MARKED_NAME_BYTES: u32 = NAME_BYTES_MAX as u32 + 1;
const DIRECTORY_DIGITS: usize = 5;

/// Directory, slash, a mark, the name and its NUL.
const BUFFER_BYTES: usize = DIRECTORY_DIGITS + 1 + 1 + NAME_BYTES_MAX + 1;

const ALPHABET: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Sequential,
    Random,
}

type Part = [u8; RANDOM_BYTES_MAX + 1];

#[derive(Debug, Clone)]
pub(super) struct Names {
    layout: Layout,
    spread: Spread,
    parts: Vec<Part>,
    /// Empty while the order is that of the indices.
    order: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(super) struct NameBuffer {
    bytes: [u8; BUFFER_BYTES],
    length: usize,
}

impl Names {
    pub(super) fn draw(layout: Layout, spread: Spread, stream: &mut CRand) -> Names {
        let parts = (0..spread.files).map(|_| random_part(stream)).collect();
        Names { layout, spread, parts, order: Vec::new() }
    }

    pub(super) fn count(&self) -> u32 {
        self.parts.len() as u32
    }

    pub(super) fn spread(&self) -> Spread {
        self.spread
    }

    /// A second call goes on from the order that the first one left.
    pub(super) fn shuffle(&mut self, stream: &mut CRand) {
        let count = self.count();
        if self.order.is_empty() {
            self.order = (0..count).collect();
        }
        for place in 0..self.order.len() {
            self.order.swap(place, stream.below(count) as usize);
        }
    }

    #[inline]
    pub(super) fn at(&self, place: u32) -> u32 {
        self.order.get(place as usize).copied().unwrap_or(place)
    }

    /// Writes the name of a file, seen from the top directory.
    #[inline]
    pub(super) fn path(&self, index: u32, into: &mut NameBuffer) {
        self.form(index, None, into);
    }

    /// Writes the name of a file, seen from its own directory.
    #[cfg(test)]
    pub(super) fn name(&self, index: u32, into: &mut NameBuffer) {
        into.clear();
        self.push_name(index, into);
    }

    /// Writes the name of a file, seen from the top directory, with a mark before it or none.
    #[inline]
    pub(super) fn form(&self, index: u32, mark: Option<u8>, into: &mut NameBuffer) {
        into.clear();
        if self.spread.has_directories() {
            into.push_directory(self.spread.directory_of(index));
        }
        if let Some(mark) = mark {
            into.push(&[mark]);
        }
        self.push_name(index, into);
    }

    #[inline]
    fn push_name(&self, index: u32, into: &mut NameBuffer) {
        let part = &self.parts[index as usize];
        match self.layout {
            Layout::Sequential => {
                into.push_index(index);
                into.push_part(part);
            }
            Layout::Random => {
                into.push_part(part);
                into.push_index(index);
            }
        }
        into.end();
    }

    /// Which file of ours has this name in a directory, if one has.
    pub(super) fn index_of(&self, name: &[u8]) -> Option<u32> {
        let split = match self.layout {
            Layout::Sequential => INDEX_DIGITS,
            Layout::Random => name.len().checked_sub(INDEX_DIGITS)?,
        };
        let (first, last) = name.split_at_checked(split)?;
        let (digits, random) = match self.layout {
            Layout::Sequential => (first, last),
            Layout::Random => (last, first),
        };
        let index = parse_index(digits)?;
        let part = self.parts.get(index as usize)?;
        (&part[1..=usize::from(part[0])] == random).then_some(index)
    }

    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.parts.capacity() * size_of::<Part>() + self.order.capacity() * size_of::<u32>()
    }
}

fn random_part(stream: &mut CRand) -> Part {
    let mut part = Part::default();
    let length = stream.below(RANDOM_BYTES_MAX as u32 + 1);
    part[0] = length as u8;
    for place in &mut part[1..=length as usize] {
        *place = ALPHABET[stream.below(ALPHABET.len() as u32) as usize];
    }
    part
}

fn parse_index(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |sum, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        sum.checked_mul(16)?.checked_add(u32::from(value))
    })
}

impl NameBuffer {
    pub(super) fn new() -> NameBuffer {
        NameBuffer { bytes: [0; BUFFER_BYTES], length: 0 }
    }

    pub(super) fn directory(number: u32) -> NameBuffer {
        let mut buffer = NameBuffer::new();
        buffer.push_directory(number);
        buffer.length -= 1;
        buffer.end();
        buffer
    }

    fn clear(&mut self) {
        self.length = 0;
    }

    /// A length that the compiler knows: a few moves instead of a call.
    #[inline]
    fn push<const N: usize>(&mut self, bytes: &[u8; N]) {
        self.bytes[self.length..self.length + N].copy_from_slice(bytes);
        self.length += N;
    }

    /// All places of a random part, of which only those count that are set.
    #[inline]
    fn push_part(&mut self, part: &Part) {
        let end = self.length + usize::from(part[0]);
        self.push::<RANDOM_BYTES_MAX>(part[1..].try_into().expect("a part's characters"));
        self.length = end;
    }

    #[inline]
    fn push_index(&mut self, index: u32) {
        let mut digits = [b'0'; INDEX_DIGITS];
        for (place, digit) in digits.iter_mut().rev().enumerate().take(8) {
            *digit = b"0123456789abcdef"[(index >> (4 * place)) as usize & 15];
        }
        self.push(&digits);
    }

    fn push_directory(&mut self, number: u32) {
        let mut digits = [b'/'; DIRECTORY_DIGITS + 1];
        let mut rest = number;
        for digit in digits[..DIRECTORY_DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.push(&digits);
    }

    fn end(&mut self) {
        self.bytes[self.length] = 0;
    }

    #[inline]
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[..=self.length]).expect("names hold no NUL")
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes[..self.length]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> CRand {
        let mut stream = CRand::new(42);
        stream.skip(100);
        stream
    }

    fn text(names: &Names, index: u32) -> String {
        let mut buffer = NameBuffer::new();
        names.path(index, &mut buffer);
        buffer.text()
    }

    /// Seen in a system call trace of bonnie++ 2.00a.
    #[test]
    fn names_are_those_that_bonnie_made() {
        let names = Names::draw(Layout::Sequential, Spread::new(1024, 2), &mut stream());
        assert_eq!(text(&names, 0), "00000/0000000000R86cO");
        assert_eq!(text(&names, 1), "00000/0000000001bxnZxM");
        assert_eq!(text(&names, 5), "00000/0000000005");
        assert_eq!(text(&names, 1023), "00001/00000003ff62QnAt0xZ05");
    }

    /// Also from that trace: the random files after the names and sizes of the sequential ones.
    #[test]
    fn random_names_and_their_orders_are_those_that_bonnie_used() {
        let (mut stream, spread) = (stream(), Spread::new(1024, 2));
        Names::draw(Layout::Sequential, spread, &mut stream);
        stream.skip(1024);
        let mut names = Names::draw(Layout::Random, spread, &mut stream);
        assert_eq!(text(&names, 0), "00000/RrVP3He678g10000000000");
        assert_eq!(text(&names, 1023), "00001/b00000003ff");
        stream.skip(1024);
        names.shuffle(&mut stream);
        assert_eq!(text(&names, names.at(0)), "00001/BMStlh00000003fa");
        assert_eq!(text(&names, names.at(1)), "00001/000000037c");
        names.shuffle(&mut stream);
        assert_eq!(text(&names, names.at(1023)), "00000/1rruWHKiJ00000000059");
    }

    #[test]
    fn a_name_leads_back_to_its_index_and_a_foreign_one_does_not() {
        for layout in [Layout::Sequential, Layout::Random] {
            let names = Names::draw(layout, Spread::new(300, 1), &mut CRand::new(7));
            let mut buffer = NameBuffer::new();
            for index in 0..300 {
                names.name(index, &mut buffer);
                let found = names.index_of(buffer.as_c_str().to_bytes());
                assert_eq!(found, Some(index));
            }
            for foreign in ["", "a", "0000000000", "notes.txt", "000000012dabc", "abc000000012d"] {
                let is_ours = (0..300).any(|index| {
                    names.name(index, &mut buffer);
                    buffer.text() == foreign
                });
                assert!(is_ours || names.index_of(foreign.as_bytes()).is_none(), "{foreign}");
            }
        }
    }

    #[test]
    fn a_shuffle_keeps_every_file_once() {
        let mut stream = CRand::new(3);
        let mut names = Names::draw(Layout::Random, Spread::new(1000, 3), &mut stream);
        names.shuffle(&mut stream);
        let mut seen: Vec<u32> = (0..1000).map(|place| names.at(place)).collect();
        assert_ne!(seen[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..1000));
    }

    #[test]
    fn a_million_names_take_seventeen_bytes_each() {
        let mut stream = CRand::new(1);
        let mut names = Names::draw(Layout::Random, Spread::new(1_000_000, 10), &mut stream);
        names.shuffle(&mut stream);
        assert!(names.memory_bytes() <= 20 * 1_000_000, "{}", names.memory_bytes());
    }
}
