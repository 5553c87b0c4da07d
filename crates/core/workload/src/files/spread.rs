//! Each directory takes one file more than an even share, and the last one what is left: that is
//! how bonnie++ divides, and it is kept so that both do the same. 1024 files in 3 directories are
//! 342, 342 and 340.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) files: u32,
    /// Directories; with one, the files lie in the top directory itself.
    pub(super) directories: u32,
}

impl Spread {
    pub(super) fn new(files: u32, directories: u32) -> Spread {
        Spread { files, directories: directories.max(1) }
    }

    #[inline]
    pub(super) fn has_directories(&self) -> bool {
        self.directories > 1
    }

    pub(super) fn files_per_directory(&self) -> u32 {
        match self.has_directories() {
            true => self.files / self.directories + 1,
            false => self.files,
        }
    }

    #[inline]
    pub(super) fn directory_of(&self, index: u32) -> u32 {
        match self.has_directories() {
            true => index / (self.files / self.directories + 1),
            false => 0,
        }
    }

    pub(super) fn files_in(&self, directory: u32) -> u32 {
        let full = u64::from(self.files_per_directory());
        let before = full * u64::from(directory);
        u64::from(self.files).saturating_sub(before).min(full) as u32
    }

    /// The fewest directories that hold so many files with at most `most` in each.
    pub(super) fn directories_for(files: u32, most: u32) -> u32 {
        if files <= most {
            return 1;
        }
        // files / directories + 1 <= most
        files / most.max(2).saturating_sub(1) + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(spread: Spread) -> Vec<u32> {
        let mut counts = vec![0; spread.directories as usize];
        for index in 0..spread.files {
            counts[spread.directory_of(index) as usize] += 1;
        }
        counts
    }

    /// Counted in a run of bonnie++ 2.00a with `-n 1:0:0:3`.
    #[test]
    fn the_division_is_one_too_many_as_in_bonnie() {
        assert_eq!(counts(Spread::new(1024, 3)), [342, 342, 340]);
        assert_eq!(counts(Spread::new(1024, 2)), [513, 511]);
        assert_eq!(counts(Spread::new(1024, 1)), [1024]);
    }

    proptest! {
        #[test]
        fn no_file_lies_beyond_the_last_directory(files in 1u32..5000, directories in 1u32..3000) {
            let spread = Spread::new(files, directories);
            let counts = counts(spread);
            prop_assert_eq!(counts.iter().sum::<u32>(), files);
            prop_assert!(counts.iter().all(|&count| count <= spread.files_per_directory()));
            prop_assert!((0..).zip(&counts).all(|(number, &count)| spread.files_in(number) == count));
        }

        #[test]
        fn directories_for_a_limit_keep_it(files in 1u32..100_000, most in 2u32..3000) {
            let spread = Spread::new(files, Spread::directories_for(files, most));
            prop_assert!(spread.files_per_directory() <= most);
        }
    }
}
