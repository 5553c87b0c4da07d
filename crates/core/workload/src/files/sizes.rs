//! How large each of many files is: a number of the stream for each, from the smallest to the
//! largest, drawn while the files are created.

use super::rand::CRand;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    min_bytes: u32,
    max_bytes: u32,
}

impl Sizes {
    /// Sizes in a range; the larger one counts where the two are exchanged.
    pub(super) fn new(min_bytes: u32, max_bytes: u32) -> Sizes {
        Sizes { min_bytes: min_bytes.min(max_bytes), max_bytes }
    }

    #[inline]
    pub(super) fn are_zero(&self) -> bool {
        self.max_bytes == 0
    }

    #[inline]
    pub(super) fn draw(&self, stream: &mut CRand) -> u32 {
        if self.are_zero() {
            return 0;
        }
        // A range of all sizes has no modulus of 32 bits; numbers have 31 anyway.
        let range = (self.max_bytes - self.min_bytes).saturating_add(1);
        self.min_bytes + stream.below(range)
    }

    pub(super) fn expected_bytes(&self, files: u32) -> u64 {
        (u64::from(self.min_bytes) + u64::from(self.max_bytes)) / 2 * u64::from(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{
        names::{Layout, Names},
        spread::Spread,
    };

    /// Seen in a system call trace of `-s 4:8k:100:3 -n 1:5000:100:2 -z 42`.
    #[test]
    fn sizes_are_those_that_bonnie_wrote() {
        let mut stream = CRand::new(42);
        stream.skip(100);
        Names::draw(Layout::Sequential, Spread::new(1024, 2), &mut stream);
        let sizes = Sizes::new(100, 5000);
        let drawn: Vec<u32> = (0..6).map(|_| sizes.draw(&mut stream)).collect();
        assert_eq!(drawn, [3078, 1164, 4909, 4742, 3101, 2917]);
    }

    #[test]
    fn empty_files_take_no_number_from_the_stream() {
        let (mut stream, mut other) = (CRand::new(5), CRand::new(5));
        assert_eq!(Sizes::new(0, 0).draw(&mut stream), 0);
        assert_eq!(stream.next(), other.next());
    }

    #[test]
    fn one_size_is_always_the_same() {
        let mut stream = CRand::new(5);
        assert!((0..100).all(|_| Sizes::new(4096, 4096).draw(&mut stream) == 4096));
        assert_eq!(Sizes::new(0, 5000).expected_bytes(4), 10_000);
    }
}
