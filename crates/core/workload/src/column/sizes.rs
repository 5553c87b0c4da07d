//! How long each list is and how often each operation is done, as the original works it out: lengths
//! follow the scale; counts and the sizes of large files also shrink with the number of lanes.
//!
//! ```text
//! decay = 1 + log2(lanes)                  1 lane: 1      64 lanes: 7
//! ```
//!
//! Not here: what fits on this machine (`room`).

/// Elements of the lists at scale 1.
const TINY: u64 = 2_047;
const SMALL: u64 = 64_512;
const MEDIUM: u64 = 520_192;
const LARGE: u64 = 32_505_856;
const HUGE: u64 = 1 << 30;
/// Rows that the sorted table is to have, at scale 1 and decay 1.
const SORTED_ROWS: f64 = 250e6;
/// Elements of all randomly read files of a lane, at scale 1 and decay 1.
const RANDOM_FILE_ELEMENTS: f64 = 4e9;
/// Elements that one random pass reads, at scale 1.
const RANDOM_READ_ELEMENTS: f64 = 100e6;
/// Calls of each test of metadata, at scale 1.
const META_CALLS: f64 = 50_000.0;

pub const RANDOM_FILES: u64 = 4;
pub const SYMBOLS: u64 = 10_000;
/// Elements of one step between random positions: 4096 bytes.
pub const STEP_ELEMENTS: u64 = 512;
/// Bytes of the random reads, decimal as in the original.
pub const BLOCKS_BYTES: [u64; 3] = [1_000_000, 64_000, 4_000];
/// The smallest scale at which a randomly read file still holds its largest block.
pub const SCALE_MIN: f64 = 0.002;
/// Bytes of the small list's file: how often the list stands in `readbinary`.
pub const BINARY_REPEATS: u64 = 64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    pub scale: f64,
    pub lanes: u32,
    /// Divides counts and the sizes of large files.
    pub decay: f64,
    pub tiny: u64,
    pub small: u64,
    pub medium: u64,
    pub large: u64,
    pub huge: u64,
    /// Appends of the large lists to the two columns of the table.
    pub mid_appends: u64,
    /// Appends of the small list to each randomly read file.
    pub random_appends: u64,
    pub meta_calls: u64,
}

impl Sizes {
    /// The huge list is shortened as in the original where the machine's memory is below 16 bytes
    /// for each of its elements in every lane.
    pub fn new(scale: f64, lanes: u32, memory_bytes: u64) -> Sizes {
        let decay = 1.0 + f64::from(lanes.max(1)).log2();
        let length = |elements: u64| ((elements as f64 * scale) as u64).max(8);
        let (small, large) = (length(SMALL), length(LARGE));
        let rounded = |count: f64| (count.round() as u64).max(1);
        let random_file = RANDOM_FILE_ELEMENTS * scale / (RANDOM_FILES as f64 * decay);
        Sizes {
            scale,
            lanes,
            decay,
            tiny: length(TINY),
            small,
            medium: length(MEDIUM),
            large,
            huge: huge_capped(length(HUGE), lanes, memory_bytes),
            mid_appends: rounded(SORTED_ROWS * scale / (large as f64 * decay)),
            random_appends: rounded(random_file / small as f64),
            meta_calls: rounded(META_CALLS * scale),
        }
    }

    fn decayed(&self, count: u64) -> u64 {
        ((count as f64 / self.decay) as u64).max(1)
    }

    pub fn tiny_replaces(&self) -> u64 {
        self.decayed(20_000)
    }

    pub fn small_replaces(&self) -> u64 {
        self.decayed(2_000)
    }

    pub fn medium_replaces(&self) -> u64 {
        self.decayed(500)
    }

    /// Of each lane that queries, where there are as many pairs of date and symbol.
    pub fn queries(&self) -> u64 {
        self.decayed(60_000)
    }

    pub fn large_replaced(&self) -> u64 {
        self.decayed(self.large / 100)
    }

    pub fn huge_replaced(&self) -> u64 {
        ((self.huge as f64 / (5_000.0 * self.decay)) as u64).max(1)
    }

    pub fn rows(&self) -> u64 {
        self.large * (1 + self.mid_appends)
    }

    pub fn random_file(&self) -> u64 {
        self.small * self.random_appends
    }

    /// Reads of one random pass from each file, each of `block_bytes`: never more than there are
    /// positions.
    pub fn random_reads(&self, block_bytes: u64) -> u64 {
        let bytes = RANDOM_READ_ELEMENTS * self.scale * 8.0;
        let reads = (bytes / (block_bytes * RANDOM_FILES) as f64) as u64;
        reads.clamp(1, self.random_positions(block_bytes))
    }

    pub fn random_positions(&self, block_bytes: u64) -> u64 {
        (self.random_file().saturating_sub(block_bytes / 8) / STEP_ELEMENTS).max(1)
    }
}

fn huge_capped(elements: u64, lanes: u32, memory_bytes: u64) -> u64 {
    let lanes = u64::from(lanes.max(1));
    if memory_bytes >= lanes * 16 * elements {
        return elements;
    }
    (memory_bytes / (32 * lanes)).max(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Lengths, appends, replaces, replaced, rows, calls.
    fn counts(sizes: &Sizes) -> [u64; 14] {
        let Sizes { tiny, small, medium, large, huge, mid_appends, random_appends, .. } = *sizes;
        let repeats = [sizes.tiny_replaces(), sizes.small_replaces(), sizes.medium_replaces()];
        let [one, two, three] = repeats;
        let (replaced, of_huge) = (sizes.large_replaced(), sizes.huge_replaced());
        let (rows, calls) = (sizes.rows(), sizes.meta_calls);
        [
            tiny,
            small,
            medium,
            large,
            huge,
            mid_appends,
            random_appends,
            one,
            two,
            three,
            replaced,
            of_huge,
            rows,
            calls,
        ]
    }

    #[test]
    fn one_lane_and_sixty_four_have_the_sizes_of_the_article() {
        let one = Sizes::new(1.0, 1, 502 * GIB);
        assert_eq!(
            counts(&one),
            [
                2_047,
                64_512,
                520_192,
                32_505_856,
                1 << 30,
                8,
                15_501,
                20_000,
                2_000,
                500,
                325_058,
                214_748,
                292_552_704,
                50_000
            ]
        );
        let many = Sizes::new(1.0, 64, 2_200 * GIB);
        assert_eq!((one.decay, many.decay), (1.0, 7.0));
        assert_eq!(
            counts(&many)[5..],
            [1, 2_214, 2_857, 285, 71, 46_436, 30_678, 65_011_712, 50_000]
        );
        for sizes in [one, many] {
            assert_eq!(BLOCKS_BYTES.map(|bytes| sizes.random_reads(bytes)), [200, 3_125, 50_000]);
        }
    }

    #[test]
    fn too_little_memory_shortens_the_huge_list_as_in_the_original() {
        assert_eq!(Sizes::new(1.0, 64, 539_018_395_648).huge, 263_192_576);
        assert_eq!(Sizes::new(1.0, 64, 539_018_395_648).huge_replaced(), 7_519);
        assert_eq!(Sizes::new(1.0, 1, 16 * GIB).huge, 1 << 30);
        assert_eq!(Sizes::new(1.0, 1, 16 * GIB - 1).huge, GIB / 2 - 1);
    }

    #[test]
    fn lengths_follow_the_scale_and_repeats_of_appends_do_not() {
        let (full, tiny) = (Sizes::new(1.0, 1, 99 * GIB), Sizes::new(0.05, 1, 99 * GIB));
        assert_eq!((tiny.tiny, tiny.small, tiny.meta_calls), (102, 3_225, 2_500));
        assert_eq!(tiny.random_appends, full.random_appends + 3);
        assert_eq!((tiny.mid_appends, tiny.tiny_replaces()), (8, 20_000));
    }

    #[test]
    fn at_the_smallest_scale_every_block_has_positions_to_choose_from() {
        for lanes in [1, 64, 512] {
            let sizes = Sizes::new(SCALE_MIN, lanes, 24 * GIB);
            assert!(sizes.random_file() * 8 > BLOCKS_BYTES[0], "{lanes}: {sizes:?}");
            for block_bytes in BLOCKS_BYTES {
                assert!(sizes.random_positions(block_bytes) > 1, "{lanes} {block_bytes}");
                assert!(sizes.random_reads(block_bytes) >= 1);
            }
        }
    }
}
