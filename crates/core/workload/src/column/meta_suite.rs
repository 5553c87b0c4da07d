//! Their table is one of times.

use std::{fs::File, path::Path};

use super::{
    check::Compared,
    files::LONGS,
    get::get,
    lane::Lane,
    layout::{Attribute, Header, Layout},
    lock::enter,
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

/// What the lock test enters into its domain, again and again.
const SYMBOLS: [&str; 5] = ["ask", "bid", "last", "open", "close"];

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let files = ["openclose", "fhcount", "mmap"].map(|name| lane.files.at(name));
    lane.make_cold(&files)?;
    let [open_close, counted, mapped] = files;
    calls(lane, "close open", || File::open(&open_close).map_err(Fault::io("open", &open_close)))?;
    let domain = lane.files.at("locktest");
    if calls(lane, "lock", || enter(&domain, &SYMBOLS))? {
        check_domain(lane, &domain)?;
    }
    let expected = 16 + 8 * lane.sizes.large;
    calls(lane, "size", || size(&counted, expected))?;
    calls(lane, "mmap", || get(&mapped, LONGS))?;
    lane.checked += 1;
    Ok(())
}

/// What a call gives is dropped within its lap.
fn calls<T>(
    lane: &mut Lane,
    phase: &str,
    call: impl Fn() -> Result<T, Fault>,
) -> Result<bool, Fault> {
    let count = lane.sizes.meta_calls;
    lane.row_if_possible(phase, |bench| {
        for _ in 0..count {
            let start_ns = bench.now_ns();
            drop(call()?);
            Watch::lap(bench, start_ns, bench.now_ns(), 0);
        }
        Ok(Done::work(count as f64))
    })
}

fn size(path: &Path, expected_bytes: u64) -> Result<(), Fault> {
    let file = File::open(path).map_err(Fault::io("open", path))?;
    let bytes = file.metadata().map_err(Fault::io("fstat", path))?.len();
    if bytes == expected_bytes {
        return Ok(());
    }
    let what = format!("{} has {bytes} bytes instead of {expected_bytes}", path.display());
    Err(Fault::Wrong { what })
}

/// Each symbol was entered once.
fn check_domain(lane: &mut Lane, path: &Path) -> Result<(), Fault> {
    let header = Header { attribute: Attribute::None, count: SYMBOLS.len() as u64 };
    let mut compared = Compared::open(path)?;
    compared.bytes(&Layout::PlainSymbols.header(header))?;
    SYMBOLS.iter().try_for_each(|symbol| compared.bytes(&[symbol.as_bytes(), b"\0"].concat()))?;
    lane.checked += 1;
    compared.end()
}
