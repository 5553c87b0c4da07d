//! Images in memory: only what was written takes space, a copy shares its pages with what it was copied from.

use std::{ops::Range, sync::Arc};

use crate::log::Put;

pub const PAGE: u64 = 4096;
type Page = [u8; PAGE as usize];

#[derive(Debug, Clone, PartialEq, Eq)]
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
        for (page, within, part) in parts(offset_bytes, into.len()) {
            match &self.pages[page as usize] {
                Some(page) => into[part].copy_from_slice(&page[within]),
                None => into[part].fill(self.fill),
            }
        }
    }

    fn page(&mut self, number: u64) -> &mut Page {
        let fill = self.fill;
        let page = &mut self.pages[number as usize];
        Arc::make_mut(page.get_or_insert_with(|| Arc::new([fill; PAGE as usize])))
    }
}

impl Put for Pages {
    fn put(&mut self, offset_bytes: u64, bytes: &[u8]) {
        for (page, within, part) in parts(offset_bytes, bytes.len()) {
            self.page(page)[within].copy_from_slice(&bytes[part]);
        }
    }

    fn zero(&mut self, offset_bytes: u64, length_bytes: u64) {
        // Zeros of a whole disk take one page.
        let zeros = Arc::new([0; PAGE as usize]);
        for (page, within, _) in parts(offset_bytes, length_bytes as usize) {
            match within.len() as u64 {
                PAGE => self.pages[page as usize] = Some(Arc::clone(&zeros)),
                _ => self.page(page)[within].fill(0),
            }
        }
    }
}

/// The parts of a range of bytes, by pages: the number of each, where it stands there, and where in the range.
fn parts(
    offset_bytes: u64,
    length: usize,
) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = offset_bytes + at as u64;
        let within = (from % PAGE) as usize;
        let part = (length - at).min(PAGE as usize - within);
        at += part;
        (part > 0).then_some((from / PAGE, within..within + part, at - part..at))
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
