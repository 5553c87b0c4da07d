//! The table on disk: sorted by its symbols, and given an attribute. Both read columns, work in memory and
//! write whole columns anew, each over the old one by a rename.
//!
//! ```text
//! sort       read sym, rank, grade (stable)  ->  write sym as runs, sorted attribute
//!            map floatcol, gather by the grade, chunk by chunk  ->  write floatcol
//! attribute  read sym, see that equal symbols stand together  ->  write sym, parted attribute
//! ```
//!
//! Ranking, grading and gathering are shared among threads; one thread writes.

use std::path::{Path, PathBuf};

use pickfs_sys::{elements::bytes_of, huge_pages};

use super::{
    get::{get, map_fault, read1},
    layout::{Attribute, Layout, wrong},
    ranks::{Interned, Ranks, even_pieces, in_parallel, packed, symbol_text},
    set::{SetHow, Setting, set},
};
use crate::fault::Fault;

/// Elements of floatcol that are gathered before they are written: 32 MiB.
const GATHERED_ELEMENTS: usize = 4 << 20;

#[derive(Debug, Clone)]
pub struct Table {
    pub symbols: PathBuf,
    pub floats: PathBuf,
    /// The file of the domain, used where symbols are enumerated.
    pub domain: PathBuf,
    /// Of the symbols.
    pub layout: Layout,
    pub threads: usize,
    pub set: SetHow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewritten {
    pub rows: u64,
    pub written_bytes: u64,
}

impl Table {
    /// Each write call is an operation (begin, end, offset).
    pub fn sort(&self, operation: &mut impl FnMut(u64, u64, u64)) -> Result<Rewritten, Fault> {
        let (ranks, runs) = self.read_symbols()?;
        let grade = ranks.grade();
        let written = self.write_runs(&ranks, &runs, operation)?;
        drop((ranks, runs));
        let gathered = self.write_gathered(&grade, operation)?;
        Ok(Rewritten { rows: grade.len() as u64, written_bytes: written + gathered })
    }

    /// With the bytes of each distinct symbol as they stand in the column.
    fn read_symbols(&self) -> Result<(Ranks, Vec<Vec<u8>>), Fault> {
        let no_symbols = |error: String| wrong(&self.symbols, error);
        if self.layout == Layout::PlainSymbols {
            let file = read1(&self.symbols)?;
            let body = body(&self.symbols, Layout::PlainSymbols, &file)?;
            let ranks = Ranks::of_plain(body, self.threads).map_err(no_symbols)?;
            let runs = ranks.distinct.iter().map(|packed| symbol_text(*packed)).collect();
            return Ok((ranks, runs));
        }
        let file = read1(&self.domain)?;
        let texts = body(&self.domain, Layout::PlainSymbols, &file)?;
        let domain: Result<Vec<u64>, String> = packed(texts, 0..texts.len()).collect();
        let domain = domain.map_err(|error| wrong(&self.domain, error))?;
        let column = get(&self.symbols, self.layout)?;
        let mut indexes = vec![0; column.count()];
        column.gather(0u64.., &mut indexes).map_err(map_fault)?;
        let ranks = Ranks::of_indexes(&indexes, &domain, self.threads).map_err(no_symbols)?;
        let index = |packed| domain.iter().position(|known| known == packed).unwrap_or(0) as u64;
        let runs = ranks.distinct.iter().map(|packed| index(packed).to_le_bytes().to_vec());
        let runs = runs.collect();
        Ok((ranks, runs))
    }

    /// Sorted symbols are runs of equal ones: nothing has to be gathered.
    fn write_runs(
        &self,
        ranks: &Ranks,
        runs: &[Vec<u8>],
        operation: &mut impl FnMut(u64, u64, u64),
    ) -> Result<u64, Fault> {
        let (rows, counts) = (ranks.rows(), ranks.counts());
        let mut bytes = self.layout.header(Attribute::Sorted, rows);
        let mut setting = Setting::begin(&self.symbols, self.set, self.layout.file_bytes(rows))?;
        let chunk_bytes = self.set.chunk_bytes;
        for (rank, symbol) in runs.iter().enumerate() {
            let count: u32 = counts.iter().map(|piece| piece[rank]).sum();
            bytes.extend(symbol.repeat(count as usize));
            if bytes.len() >= chunk_bytes {
                let whole = bytes.len() - bytes.len() % chunk_bytes;
                setting.write(&[], &bytes[..whole], operation)?;
                bytes.drain(..whole);
            }
        }
        setting.write(&[], &bytes, operation)?;
        setting.finish()
    }

    fn write_gathered(
        &self,
        grade: &[u32],
        operation: &mut impl FnMut(u64, u64, u64),
    ) -> Result<u64, Fault> {
        let column = get(&self.floats, Layout::Floats)?;
        if column.count() != grade.len() {
            let what = format!("has {} rows, and sym {}", column.count(), grade.len());
            return Err(wrong(&self.floats, what));
        }
        let count = grade.len() as u64;
        let mut header = Layout::Floats.header(Attribute::None, count);
        let mut setting = Setting::begin(&self.floats, self.set, Layout::Floats.file_bytes(count))?;
        let mut gathered = vec![0; GATHERED_ELEMENTS.min(grade.len())];
        huge_pages::ask_for(&mut gathered);
        for part in grade.chunks(GATHERED_ELEMENTS) {
            let into = &mut gathered[..part.len()];
            let gathers = in_parallel(paired(part, into, self.threads), |(rows, into)| {
                column.gather(rows.iter().copied(), into)
            });
            gathers.into_iter().collect::<Result<(), _>>().map_err(map_fault)?;
            setting.write(&header, bytes_of(into), operation)?;
            header.clear();
        }
        setting.finish()
    }

    pub fn add_parted(
        &self,
        operation: &mut impl FnMut(u64, u64, u64),
    ) -> Result<Rewritten, Fault> {
        let file = read1(&self.symbols)?;
        let body = body(&self.symbols, self.layout, &file)?;
        let rows = *self.parts_of(body)?.last().expect("parts have an end");
        let header = self.layout.header(Attribute::Parted, rows);
        let written_bytes = set(&self.symbols, &header, body, self.set, operation)?;
        Ok(Rewritten { rows, written_bytes })
    }

    /// The first row of each symbol's, and the end of the last: what the parted attribute says.
    pub(super) fn parts(&self) -> Result<Vec<u64>, Fault> {
        self.parts_of(body(&self.symbols, self.layout, &read1(&self.symbols)?)?)
    }

    fn parts_of(&self, body: &[u8]) -> Result<Vec<u64>, Fault> {
        let parts = match self.layout {
            Layout::PlainSymbols => parted(packed(body, 0..body.len())),
            _ => parted(body.chunks_exact(8).map(|eight| {
                Ok(u64::from_le_bytes(eight.try_into().expect("a chunk has eight bytes")))
            })),
        };
        parts.map_err(|error| wrong(&self.symbols, error))
    }
}

fn body<'a>(path: &Path, layout: Layout, file: &'a [u8]) -> Result<&'a [u8], Fault> {
    layout.parse(file).map_err(|error| wrong(path, error))?;
    Ok(&file[layout.header_bytes()..])
}

fn paired<'a>(
    rows: &'a [u32],
    into: &'a mut [u64],
    threads: usize,
) -> Vec<(&'a [u32], &'a mut [u64])> {
    let mut rest = into;
    let mut parts = Vec::new();
    for piece in even_pieces(rows.len(), threads) {
        let (part, later) = std::mem::take(&mut rest).split_at_mut(piece.len());
        parts.push((&rows[piece], part));
        rest = later;
    }
    parts
}

/// Where the equal ones of each kind begin, and the number of rows; if equal ones stand together.
fn parted(rows: impl Iterator<Item = Result<u64, String>>) -> Result<Vec<u64>, String> {
    let mut met = Interned::default();
    let (mut last, mut count, mut parts) = (None, 0, Vec::new());
    for row in rows {
        let row = row?;
        if last.replace(row) != Some(row) {
            if met.insert(row, 0).is_some() {
                return Err("is not parted".into());
            }
            parts.push(count);
        }
        count += 1;
    }
    parts.push(count);
    Ok(parts)
}
