//! HFS+ and HFSX: Apple's extended file system, its second form telling upper from lower case. In
//! allocation blocks of 4 KiB, without a journal (Linux would mount it read-only) and without the
//! HFS wrapper of old.
//!
//! ```text
//! byte 0             two empty sectors for boot code
//! byte 1024          volume header
//! block 1 ...        allocation file: a bit for each block, set where it is taken
//! after it           extents overflow file: an empty tree
//! after it           catalog file: a tree whose one leaf holds the root folder and its thread
//! 1024 before the end   the volume header again
//! ```
//!
//! Source of all fields: Apple, *Technical Note TN1150, HFS Plus Volume Format*, sections "Volume
//! Header", "B-Trees", "Catalog File", "Extents Overflow File", "HFSX". The count of folders in a
//! folder of HFSX is younger than the note; it stands in `fs/hfsplus/hfsplus_raw.h` of Linux. The
//! note forbids nothing about the clump size of an absent attributes file, but Apple's checker
//! wants one as soon as an attribute was written. Numbers have their high byte first.

use crate::claims::Claims;
use crate::draft::Draft;
use crate::error::MakeError;
use crate::kind::{ID, Kind, LABEL, MADE_S};
use crate::record::Record;

/// Allocation block: what Apple's own formatter chooses.
const BLOCK_BYTES: u64 = 4096;
/// The volume may end within a block, but not within a sector.
const SECTOR_BYTES: u64 = 512;
const MINIMUM_BYTES: u64 = 1 << 20;
/// Its bitmap has 32 MiB, and a draft is held in memory.
const MAXIMUM_BYTES: u64 = 1 << 40;
/// 1904-01-01 in seconds before 1970.
const EPOCH_BEFORE_1970_S: u64 = 2_082_844_800;
const MADE: u32 = (MADE_S + EPOCH_BEFORE_1970_S) as u32;

/// And of its copy before the end.
const HEADER_AT: u64 = 1024;
const EXTENTS_NODE: u64 = 4096;
const CATALOG_NODE: u64 = 8192;

/// One run of blocks.
#[derive(Clone, Copy)]
struct Fork {
    first: u64,
    blocks: u64,
}

impl Fork {
    fn after(before: Fork, bytes: u64) -> Self {
        Self { first: before.first + before.blocks, blocks: bytes.div_ceil(BLOCK_BYTES) }
    }

    fn bytes(self) -> u64 {
        self.blocks * BLOCK_BYTES
    }
}

/// In allocation blocks.
struct Layout {
    blocks: u64,
    allocation: Fork,
    extents: Fork,
    catalog: Fork,
}

impl Layout {
    /// The trees take a share of the volume, within bounds; they grow when they are full. At
    /// their upper bounds the map in the header node counts all nodes.
    fn new(size_bytes: u64) -> Self {
        let blocks = size_bytes / BLOCK_BYTES;
        let share = |part: u64, least: u64, most: u64, node: u64| {
            (size_bytes / part).clamp(least, most).next_multiple_of(node)
        };
        let header = Fork { first: 0, blocks: 1 };
        let allocation = Fork::after(header, blocks.div_ceil(8));
        let extents = Fork::after(allocation, share(2048, 16 << 10, 16 << 20, EXTENTS_NODE));
        let catalog = Fork::after(extents, share(128, 64 << 10, 64 << 20, CATALOG_NODE));
        Self { blocks, allocation, extents, catalog }
    }

    /// The last block is always taken, whether the copy of the header lies in it or after it.
    fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        claims.take(0, 1);
        for fork in [self.allocation, self.extents, self.catalog] {
            claims.take(fork.first, fork.blocks);
        }
        claims.take(self.blocks - 1, 1);
        claims
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plus,
    X,
}

pub(crate) fn draft(kind: Kind, size_bytes: u64) -> Result<Draft, MakeError> {
    let form = if kind == Kind::Hfsx { Form::X } else { Form::Plus };
    kind.check_size(size_bytes, SECTOR_BYTES, MINIMUM_BYTES, MAXIMUM_BYTES)?;
    let layout = Layout::new(size_bytes);
    let claims = layout.claims();
    let mut draft = Draft::new(kind, BLOCK_BYTES as u32, layout.blocks);
    draft.free_blocks = layout.blocks - claims.count();
    let header = volume_header(&layout, form, draft.free_blocks);
    draft.put(HEADER_AT, header.clone());
    draft.put(size_bytes - HEADER_AT, header);
    draft.put_block(layout.allocation.first, allocation_file(&layout, &claims));
    let extents = Tree::new(layout.extents, EXTENTS_NODE, 10);
    draft.put_block(layout.extents.first, extents.header_node());
    let catalog = Tree {
        leaf_records: 2,
        case: if form == Form::X { 0xbc } else { 0 },
        variable_keys: true,
        ..Tree::new(layout.catalog, CATALOG_NODE, 516)
    };
    draft.put_block(layout.catalog.first, catalog.header_node());
    draft.put(layout.catalog.first * BLOCK_BYTES + CATALOG_NODE, catalog_leaf(form));
    Ok(draft)
}

/// `HFSPlusVolumeHeader`: unmounted in good order, next number for a file 16, text in Mac Roman.
fn volume_header(layout: &Layout, form: Form, free_blocks: u64) -> Record {
    const UNMOUNTED: u32 = 1 << 8;
    let (signature, version) = if form == Form::X { (b"HX", 5) } else { (b"H+", 4) };
    let mut header = Record::big(512);
    header.set(0, signature).set_u16(2, version).set_u32(4, UNMOUNTED).set(8, b"10.0");
    header.set_u32(16, MADE).set_u32(20, MADE).set_u32(28, MADE);
    header.set_u32(40, BLOCK_BYTES as u32).set_u32(44, layout.blocks as u32);
    header.set_u32(48, free_blocks as u32);
    header.set_u32(52, (layout.catalog.first + layout.catalog.blocks) as u32);
    header.set_u32(56, 16 << 12).set_u32(60, 16 << 12).set_u32(64, 16);
    header.set_u64(72, 1).set_u64(104, ID);
    set_fork(&mut header, 112, layout.allocation);
    set_fork(&mut header, 192, layout.extents);
    set_fork(&mut header, 272, layout.catalog);
    header.set_u32(352 + 8, layout.catalog.bytes() as u32);
    header
}

/// `HFSPlusForkData`: length, clump size, blocks, and the first of eight extents.
fn set_fork(header: &mut Record, at: usize, fork: Fork) {
    header.set_u64(at, fork.bytes()).set_u32(at + 8, fork.bytes() as u32);
    header.set_u32(at + 12, fork.blocks as u32);
    header.set_u32(at + 16, fork.first as u32).set_u32(at + 20, fork.blocks as u32);
}

/// The first block is the highest bit of the first byte. Bits behind the last block are zero.
fn allocation_file(layout: &Layout, claims: &Claims) -> Vec<u8> {
    let mut bits = vec![0_u8; layout.allocation.bytes() as usize];
    for block in claims.within(0..layout.blocks).flatten() {
        bits[(block / 8) as usize] |= 0x80 >> (block % 8);
    }
    bits
}

/// With its header node, and at most one leaf after it.
struct Tree {
    fork: Fork,
    node_bytes: u64,
    key_bytes_max: u16,
    leaf_records: u32,
    /// How names are compared: 0xbc by their bytes; of HFS+ it is reserved.
    case: u8,
    variable_keys: bool,
}

impl Tree {
    fn new(fork: Fork, node_bytes: u64, key_bytes_max: u16) -> Self {
        let (leaf_records, case, variable_keys) = (0, 0, false);
        Self { fork, node_bytes, key_bytes_max, leaf_records, case, variable_keys }
    }

    /// `BTHeaderRec` at 14, 128 bytes for users at 120, the map of nodes from 248 on.
    fn header_node(&self) -> Record {
        const BIG_KEYS: u32 = 2;
        const VARIABLE_KEYS: u32 = 4;
        const MAP: usize = 248;
        let leaf = u32::from(self.leaf_records > 0);
        let nodes = (self.fork.bytes() / self.node_bytes) as u32;
        let mut node = node_of(self.node_bytes, 1, 0, 3);
        node.set_u16(14, leaf as u16).set_u32(16, leaf).set_u32(20, self.leaf_records);
        node.set_u32(24, leaf).set_u32(28, leaf).set_u16(32, self.node_bytes as u16);
        node.set_u16(34, self.key_bytes_max).set_u32(36, nodes).set_u32(40, nodes - 1 - leaf);
        node.set_u32(46, self.fork.bytes() as u32).set_u8(51, self.case);
        node.set_u32(52, if self.variable_keys { BIG_KEYS | VARIABLE_KEYS } else { BIG_KEYS });
        node.set_u8(MAP, if leaf == 1 { 0xc0 } else { 0x80 });
        set_offsets(&mut node, &[14, 120, MAP, self.node_bytes as usize - 8]);
        node
    }
}

/// `BTNodeDescriptor`: kind 1 is a header, -1 a leaf; no neighbours.
fn node_of(node_bytes: u64, kind: i8, height: u8, records: u16) -> Record {
    let mut node = Record::big(node_bytes as usize);
    node.set_u8(8, kind as u8).set_u8(9, height).set_u16(10, records);
    node
}

/// Where the records begin, and where the free space: from the end of the node backwards.
fn set_offsets(node: &mut Record, offsets: &[usize]) {
    for (index, &offset) in offsets.iter().enumerate() {
        let at = node.bytes().len() - 2 * (index + 1);
        node.set_u16(at, offset as u16);
    }
}

/// The root folder under its parent 1, and the thread that leads from it to its name.
fn catalog_leaf(form: Form) -> Record {
    let name: Vec<u8> = name_of(LABEL);
    let folder = [key(1, &name), root_folder(form).into()].concat();
    let thread = [key(2, &[0, 0]), vec![0, 3, 0, 0, 0, 0, 0, 1], name].concat();
    let mut node = node_of(CATALOG_NODE, -1, 1, 2);
    let (second, end) = (14 + folder.len(), 14 + folder.len() + thread.len());
    node.set(14, &folder).set(second, &thread);
    set_offsets(&mut node, &[14, second, end]);
    node
}

/// `HFSUniStr255`: a count of UTF-16 units, then these.
fn name_of(label: &str) -> Vec<u8> {
    let units = label.encode_utf16().map(u16::to_be_bytes);
    std::iter::once((label.len() as u16).to_be_bytes()).chain(units).flatten().collect()
}

/// `HFSPlusCatalogKey`: its length without itself, the parent, the name.
fn key(parent: u32, name: &[u8]) -> Vec<u8> {
    let length = (4 + name.len()) as u16;
    [&length.to_be_bytes()[..], &parent.to_be_bytes(), name].concat()
}

/// `HFSPlusCatalogFolder`: number 2, empty, `drwxr-xr-x` of user 0. On HFSX folders count the
/// folders in them and say so by a flag; Linux keeps that count only where the flag stands.
fn root_folder(form: Form) -> Record {
    const HAS_FOLDER_COUNT: u16 = 0x10;
    const MODE: u16 = 0o040_755;
    let mut folder = Record::big(88);
    folder.set_u16(0, 1).set_u32(8, 2).set_u16(42, MODE);
    if form == Form::X {
        folder.set_u16(2, HAS_FOLDER_COUNT);
    }
    for field in [12, 16, 20, 24] {
        folder.set_u32(field, MADE);
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_in_the_header_node_counts_all_nodes_of_the_largest_trees() {
        let layout = Layout::new(MAXIMUM_BYTES);
        for (fork, node) in [(layout.extents, EXTENTS_NODE), (layout.catalog, CATALOG_NODE)] {
            let bits_of_map = (node - 256) * 8;
            assert!(fork.bytes() / node <= bits_of_map);
        }
    }

    #[test]
    fn a_name_is_counted_in_units_of_sixteen_bits() {
        assert_eq!(name_of("ab"), [0, 2, 0, b'a', 0, b'b']);
        assert_eq!(key(1, &name_of("a")), [0, 8, 0, 0, 0, 1, 0, 1, 0, b'a']);
    }
}
