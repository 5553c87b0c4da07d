//! Images in memory: only what was written takes space, a copy shares its pages with what it was copied from.

use std::sync::Arc;

use crate::log::{Put, SECTOR};

pub const PAGE: u64 = 4096;
type Page = [u8; PAGE as usize];

#[derive(Clone, PartialEq, Eq)]
pub struct Pages {
    bytes: u64,
    /// What stands where nothing was written.
    fill: u8,
    pages: Vec<Option<Arc<Page>>>,
}

impl Pages {
    /// Full of one byte, which takes no space.
    pub fn filled(bytes: u64, fill: u8) -> Self {
        Self { bytes, fill, pages: vec![None; bytes.div_ceil(PAGE) as usize] }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Nothing of it lies behind the end.
    pub fn read(&self, offset_bytes: u64, into: &mut [u8]) {
        for part in parts(offset_bytes, into.len()) {
            let target = &mut into[part.at..part.at + part.length];
            match &self.pages[part.page as usize] {
                Some(page) => target.copy_from_slice(&page[part.within..part.within + part.length]),
                None => target.fill(self.fill),
            }
        }
    }

    pub fn sector(&self, sector: u64) -> [u8; SECTOR as usize] {
        let mut bytes = [0; SECTOR as usize];
        self.read(sector * SECTOR, &mut bytes);
        bytes
    }

    pub fn fill(&self) -> u8 {
        self.fill
    }

    /// Each page that was written, by its first byte; the last one ends with the image.
    pub fn written(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pages.iter().zip(0..).filter_map(|(page, number)| {
            let length = (self.bytes - number * PAGE).min(PAGE);
            Some((number * PAGE, &page.as_ref()?[..length as usize]))
        })
    }

    fn page(&mut self, number: u64) -> &mut Page {
        let fill = self.fill;
        let page = &mut self.pages[number as usize];
        Arc::make_mut(page.get_or_insert_with(|| Arc::new([fill; PAGE as usize])))
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Pages({} bytes, {:#x} where nothing was written)", self.bytes, self.fill)
    }
}

impl Put for Pages {
    fn put(&mut self, offset_bytes: u64, bytes: &[u8]) {
        for part in parts(offset_bytes, bytes.len()) {
            let source = &bytes[part.at..part.at + part.length];
            self.page(part.page)[part.within..part.within + part.length].copy_from_slice(source);
        }
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) {
        // Zeros of a whole disk take one page.
        let zeros = Arc::new([0; PAGE as usize]);
        for part in parts(offset_bytes, length_bytes as usize) {
            match part.length as u64 {
                PAGE => self.pages[part.page as usize] = Some(Arc::clone(&zeros)),
                _ => self.page(part.page)[part.within..part.within + part.length].fill(0),
            }
        }
    }
}

/// The part of a range of bytes that lies within one page.
struct Part {
    page: u64,
    within: usize,
    /// From the start of the range.
    at: usize,
    length: usize,
}

fn parts(offset_bytes: u64, length: usize) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = offset_bytes + at as u64;
        let within = (from % PAGE) as usize;
        let part = Part { page: from / PAGE, within, at, length: 0 };
        let length = (length - at).min(PAGE as usize - within);
        at += length;
        (length > 0).then_some(Part { length, ..part })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against plain memory; the last page of the image is half a page.
        #[test]
        fn pages_read_as_what_was_written_last(
            steps in proptest::collection::vec((0u64..40, 1usize..20, any::<u8>(), any::<bool>()), 1..40)
        ) {
            let bytes = 20_480 - 2048;
            let mut plain = vec![7u8; bytes];
            let mut pages = Pages::filled(bytes as u64, 7);
            for (sector, sectors, byte, is_zero) in steps {
                let from = (sector as usize * 512).min(bytes - 512);
                let to = (from + sectors * 512).min(bytes);
                match is_zero {
                    true => pages.zero(from as u64, (to - from) as u64),
                    false => pages.put(from as u64, &vec![byte; to - from]),
                }
                plain[from..to].fill(if is_zero { 0 } else { byte });
                let mut read = vec![0; bytes];
                pages.read(0, &mut read);
                prop_assert_eq!(&read, &plain);
            }
        }
    }
}
