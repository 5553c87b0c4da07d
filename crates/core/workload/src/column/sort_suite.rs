//! The table sorted on disk and given an attribute, each with its syncs. The column of symbols is in memory
//! when the sort starts, and the floats are not: as text it must be read whole before anybody knows its
//! length, and the original does that before its clock starts.
//!
//! The original syncs the directory after the sort and leaves the columns dirty for the next row. Here they
//! are synced in a row of their own, so that a durable figure exists, and the attribute starts clean.

use super::{get::read1, lane::Lane, layout::Attribute, prepared_files::table_content};
use crate::{fault::Fault, phase::Done};

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let table = lane.table();
    lane.make_cold(&[table.symbols.clone(), table.floats.clone(), table.domain.clone()])?;
    drop(read1(&table.symbols)?);
    let layout = lane.settings.symbols;
    let symbols =
        layout.layout().header_bytes() as u64 + lane.sizes.rows() * layout.symbol_bytes() as u64;
    let written = symbols + 16 + 8 * lane.sizes.rows();
    lane.write_row("disk sort", written, |bench| {
        let done = table.sort(bench)?;
        Ok(Done { work: 16.0 * done.rows as f64, real_bytes: done.written_bytes })
    })?;
    let (rows, folder) = (lane.sizes.rows(), lane.files.table_folder());
    lane.sync_row("sync table after sort", &[&folder], 2 * rows, Done::work(1.0))?;
    let columns = [table.symbols.as_path(), table.floats.as_path()];
    lane.sync_row("sync columns after sort", &columns, 2 * rows, Done::bytes(written))?;
    lane.write_row("add attribute", symbols, |bench| {
        let done = table.add_parted(bench)?;
        Ok(Done { work: 8.0 * done.rows as f64, real_bytes: done.written_bytes })
    })?;
    let sync = "sync column after parted attribute";
    lane.sync_row(sync, &[&table.symbols], rows, Done::bytes(symbols))?;
    table_content(lane).check_sorted(&table, Attribute::Parted)?;
    lane.checked += 2;
    Ok(())
}
