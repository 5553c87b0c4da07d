//! What the blocks hold is checked by a sum over their ends.

use pickfs_record::phase::Heat;

use super::{
    files::Of,
    lane::{Counted, Lane},
    list::Windows,
    random::Blocks,
    rows::{Pass, passes},
};
use crate::fault::Fault;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let windows = lane.data.windows(Of::RandomFiles, lane.sizes.small);
    for pass in passes(lane.settings.has_random_variants) {
        let blocks = blocks(lane, &pass);
        let expected = blocks.expected(|file, index| element(lane, &windows, file, index));
        lane.make_cold(&lane.files.random())?;
        for heat in [Heat::Cold, Heat::Hot] {
            read(lane, &pass, heat, (&blocks, expected))?;
        }
    }
    lane.checked += 1;
    Ok(())
}

fn blocks(lane: &Lane, pass: &Pass) -> Blocks {
    let reads = lane.sizes.random_reads(pass.block_bytes);
    let positions = lane.sizes.random_positions(pass.block_bytes);
    let elements = (pass.block_bytes / 8) as usize;
    let seed = lane.data.seed_of(Of::Places, pass.number);
    Blocks::new(lane.files.random(), elements, (reads, positions), seed)
}

fn element(lane: &Lane, windows: &Windows, file: u32, index: u64) -> u64 {
    let (small, appends) = (lane.sizes.small, lane.sizes.random_appends);
    windows.at(u64::from(file) * appends + index / small)[(index % small) as usize]
}

fn read(
    lane: &mut Lane,
    pass: &Pass,
    heat: Heat,
    (blocks, expected): (&Blocks, u64),
) -> Result<(), Fault> {
    let phase = pass.row(heat).phase;
    let files = lane.files.random();
    let bytes = blocks.bytes();
    let counted = Counted { work_bytes: bytes, real_bytes: bytes, is_whole: false };
    let open = blocks.open(pass.by)?;
    let mut sum = None;
    lane.read_row(&phase, &files, counted, |bench| {
        sum = Some(blocks.read(&open, bench)?);
        Ok(())
    })?;
    match sum {
        Some(sum) if sum != expected => {
            let what = format!("{phase}: the blocks hold other elements than were written");
            Err(Fault::Wrong { what })
        }
        _ => Ok(()),
    }
}
