//! Columns read from end to end, and blocks at random places; cold and hot. After the cold reads the lists are compared
//! once more: their bytes have then come from the device. What the blocks hold is checked by a sum over their ends.

use std::path::PathBuf;

use pickfs_record::phase::Heat;

use super::{
    check::{check_binary, check_lists},
    files::{Column, Of, lists},
    get::{get, map_fault, read1},
    lane::{Counted, Lane, keeping},
    layout::{Layout, wrong},
    random::Blocks,
    ranks::{even_pieces, in_parallel},
    rows::{Pass, passes},
    sizes::BINARY_REPEATS,
};
use crate::{fault::Fault, phase::Done};

pub(super) fn run_cold(lane: &mut Lane) -> Result<(), Fault> {
    let names = lists().map(|column| column.file).chain(["readbinary"]);
    let files: Vec<PathBuf> = names.map(|name| lane.files.at(name)).collect();
    lane.make_cold(&files)?;
    for column in lists() {
        sequential(lane, &format!("sequential read {}", column.what), column)?;
    }
    aggregate(lane)?;
    binary(lane, "sequential read binary cold")?;
    check_lists(lane)
}

pub(super) fn run_hot(lane: &mut Lane) -> Result<(), Fault> {
    for column in lists().skip(1) {
        sequential(lane, &format!("sequential reread {}", column.what), column)?;
    }
    binary(lane, "sequential read binary hot")
}

/// Maps and touches; the mapping is taken away after the clock has stopped.
fn sequential(lane: &mut Lane, phase: &str, column: &Column) -> Result<(), Fault> {
    let (touch, path) = (lane.settings.touch, lane.files.at(column.file));
    let layout = lane.data.layout(column.of);
    let elements = match column.of {
        Of::Large => lane.sizes.rows(),
        of => lane.data.list(of).count,
    };
    let (work_bytes, real_bytes) = (8 * elements, layout.file_bytes(elements));
    let counted = Counted { work: work_bytes, real_bytes, is_whole: true };
    let mut kept = None;
    lane.read_row(phase, std::slice::from_ref(&path), counted, |_| {
        let mapped = kept.insert(get(&path, layout)?);
        touch.resident(mapped, &path)
    })
}

fn aggregate(lane: &mut Lane) -> Result<(), Fault> {
    let path = lane.files.at("seqreadHuge");
    let column = get(&path, Layout::Longs)?;
    lane.settings.touch.resident(&column, &path)?;
    let threads = lane.settings.threads as usize;
    lane.row("aggregate int huge", |_| {
        let pieces = even_pieces(column.count(), threads);
        let largest = in_parallel(pieces, |piece| column.max_signed(piece));
        let largest: Vec<_> = largest.into_iter().collect::<Result<_, _>>().map_err(map_fault)?;
        std::hint::black_box(largest.into_iter().flatten().max());
        Ok(Done::bytes(8 * column.count() as u64))
    })
}

fn binary(lane: &mut Lane, phase: &str) -> Result<(), Fault> {
    let path = lane.files.at("readbinary");
    let work_bytes = 8 * lane.sizes.small * BINARY_REPEATS;
    let counted = Counted { work: work_bytes, real_bytes: work_bytes + 16, is_whole: true };
    let mut read = None;
    lane.read_row(phase, std::slice::from_ref(&path), counted, |_| {
        read = Some(read1(&path)?);
        Ok(())
    })?;
    read.map_or(Ok(()), |bytes| check_binary(lane, &bytes))
}

pub(super) fn run_random(lane: &mut Lane) -> Result<(), Fault> {
    let (windows, sizes) = (lane.data.windows(Of::RandomFiles), lane.sizes);
    let (small, appends) = (sizes.small, sizes.random_appends);
    let element =
        |file, index| windows.element(u64::from(file) * appends + index / small, index % small);
    for pass in passes(lane.settings.has_random_variants) {
        let reads =
            (sizes.random_reads(pass.block_bytes), sizes.random_positions(pass.block_bytes));
        let seed = lane.data.seed_of(Of::Places, pass.number);
        let block_elements = (pass.block_bytes / 8) as usize;
        let blocks = Blocks::new(lane.files.random(), block_elements, reads, seed);
        let expected = blocks.expected(element);
        lane.make_cold(&lane.files.random())?;
        for heat in [Heat::Cold, Heat::Hot] {
            random(lane, &pass, heat, (&blocks, expected))?;
        }
    }
    lane.checked += 1;
    Ok(())
}

fn random(
    lane: &mut Lane,
    pass: &Pass,
    heat: Heat,
    (blocks, expected): (&Blocks, u64),
) -> Result<(), Fault> {
    let phase = pass.row(heat).phase;
    let (files, bytes) = (lane.files.random(), blocks.bytes());
    let counted = Counted { work: bytes, real_bytes: bytes, is_whole: false };
    let mut open = blocks.open(pass.by)?;
    let mut sum = expected;
    lane.read_row(&phase, &files, counted, |bench| {
        sum = blocks.read(&mut open, &mut keeping(bench))?;
        Ok(())
    })?;
    if sum == expected {
        return Ok(());
    }
    Err(wrong(phase.as_ref(), "read other elements than were written"))
}
