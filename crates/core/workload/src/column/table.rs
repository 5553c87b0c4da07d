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

use std::path::PathBuf;

use pickfs_sys::{elements::bytes_of, huge_pages};

use super::{
    get::{get, map_fault, read1},
    layout::{Attribute, ElementType, Header, Layout, wrong},
    ranks::{Interned, Ranks, SymbolError, even_pieces, in_parallel, next_symbol, symbol_text},
    set::{SetHow, Setting, set},
    symbols::SymbolLayout,
    watch::Watch,
};
use crate::fault::Fault;

/// Elements of floatcol that are gathered before they are written: 32 MiB.
const GATHERED_ELEMENTS: usize = 4 << 20;
pub(super) const FLOATS: Layout = Layout::Elements(ElementType::Float);

#[derive(Debug, Clone)]
pub struct Table {
    pub symbols: PathBuf,
    pub floats: PathBuf,
    /// The file of the domain, used where symbols are enumerated.
    pub domain: PathBuf,
    pub layout: SymbolLayout,
    pub threads: usize,
    pub set: SetHow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewritten {
    pub rows: u64,
    pub written_bytes: u64,
}

impl Table {
    pub fn sort(&self, watch: &mut impl Watch) -> Result<Rewritten, Fault> {
        let (ranks, runs) = self.read_symbols()?;
        let grade = ranks.grade();
        let written = self.write_runs(&ranks, &runs, watch)?;
        drop((ranks, runs));
        let gathered = self.write_gathered(&grade, watch)?;
        Ok(Rewritten { rows: grade.len() as u64, written_bytes: written + gathered })
    }

    fn read_symbols(&self) -> Result<(Ranks, Vec<Vec<u8>>), Fault> {
        match self.layout {
            SymbolLayout::Plain => {
                let file = read1(&self.symbols)?;
                let body = self.body(&self.symbols, Layout::PlainSymbols, &file)?;
                let ranks = Ranks::of_plain(body, self.threads).map_err(|e| self.no_symbols(&e))?;
                let runs = ranks.distinct.iter().map(|packed| symbol_text(*packed)).collect();
                Ok((ranks, runs))
            }
            SymbolLayout::Enumerated => self.read_indexes(),
        }
    }

    fn read_indexes(&self) -> Result<(Ranks, Vec<Vec<u8>>), Fault> {
        let file = read1(&self.domain)?;
        let domain = packed_symbols(self.body(&self.domain, Layout::PlainSymbols, &file)?);
        let domain = domain.map_err(|error| wrong(&self.domain, &error))?;
        let column = get(&self.symbols, Layout::EnumeratedSymbols)?;
        let mut indexes = vec![0; column.elements.count()];
        column.elements.copy(0, &mut indexes).map_err(map_fault)?;
        let ranks = Ranks::of_indexes(&indexes, &domain, self.threads);
        let ranks = ranks.map_err(|error| self.no_symbols(&error))?;
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
        watch: &mut impl Watch,
    ) -> Result<u64, Fault> {
        let layout = self.layout.layout();
        let count = ranks.rows();
        let mut bytes = layout.header(Header { attribute: Attribute::Sorted, count });
        let length = bytes.len() as u64 + count * self.layout.symbol_bytes() as u64;
        let mut setting = Setting::begin(&self.symbols, self.set, length)?;
        let chunk_bytes = self.set.chunk_bytes;
        for (symbol, count) in runs.iter().zip(ranks.counts()) {
            bytes.extend(symbol.repeat(count as usize));
            if bytes.len() >= chunk_bytes {
                let whole = bytes.len() - bytes.len() % chunk_bytes;
                setting.write(&[], &bytes[..whole], watch)?;
                bytes.drain(..whole);
            }
        }
        setting.write(&[], &bytes, watch)?;
        setting.finish()
    }

    fn write_gathered(&self, grade: &[u32], watch: &mut impl Watch) -> Result<u64, Fault> {
        let column = get(&self.floats, FLOATS)?;
        if column.elements.count() != grade.len() {
            let what = format!("has {} rows, and sym {}", column.elements.count(), grade.len());
            return Err(wrong(&self.floats, &what));
        }
        let count = grade.len() as u64;
        let mut header = FLOATS.header(Header { attribute: Attribute::None, count });
        let mut setting = Setting::begin(&self.floats, self.set, header.len() as u64 + 8 * count)?;
        let mut gathered = vec![0; GATHERED_ELEMENTS.min(grade.len())];
        huge_pages::ask_for(&mut gathered);
        for part in grade.chunks(GATHERED_ELEMENTS) {
            let into = &mut gathered[..part.len()];
            let gathers = in_parallel(paired(part, into, self.threads), |(rows, into)| {
                column.elements.gather_narrow(rows, into)
            });
            gathers.into_iter().collect::<Result<(), _>>().map_err(map_fault)?;
            setting.write(&header, bytes_of(into), watch)?;
            header.clear();
        }
        setting.finish()
    }

    pub fn add_parted(&self, watch: &mut impl Watch) -> Result<Rewritten, Fault> {
        let layout = self.layout.layout();
        let file = read1(&self.symbols)?;
        let body = self.body(&self.symbols, layout, &file)?;
        let rows = match self.layout {
            SymbolLayout::Plain => parted(plain_symbols(body)),
            SymbolLayout::Enumerated => parted(indexes(body).map(Ok)),
        };
        let rows = rows.map_err(|error| self.no_symbols(&error))?;
        let count = rows.ok_or_else(|| wrong(&self.symbols, &"is not parted"))?;
        let header = layout.header(Header { attribute: Attribute::Parted, count });
        let written_bytes = set(&self.symbols, &header, body, self.set, watch)?;
        Ok(Rewritten { rows: count, written_bytes })
    }

    fn body<'a>(
        &self,
        path: &std::path::Path,
        layout: Layout,
        file: &'a [u8],
    ) -> Result<&'a [u8], Fault> {
        layout.parse(file).map_err(|error| wrong(path, &error))?;
        Ok(&file[layout.header_bytes()..])
    }

    fn no_symbols(&self, error: &SymbolError) -> Fault {
        wrong(&self.symbols, error)
    }
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

pub(super) fn plain_symbols(
    bytes: &[u8],
) -> impl Iterator<Item = Result<u64, SymbolError>> + use<'_> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        let symbol = next_symbol(bytes, at);
        at = symbol.as_ref().map_or(bytes.len(), |(_, next)| *next);
        Some(symbol.map(|(packed, _)| packed))
    })
}

fn packed_symbols(bytes: &[u8]) -> Result<Vec<u64>, SymbolError> {
    plain_symbols(bytes).collect()
}

fn indexes(bytes: &[u8]) -> impl Iterator<Item = u64> + use<'_> {
    let eights = bytes.chunks_exact(8);
    eights.map(|eight| u64::from_le_bytes(eight.try_into().expect("a chunk has eight bytes")))
}

/// The number of rows, if equal ones stand together.
fn parted(
    rows: impl Iterator<Item = Result<u64, SymbolError>>,
) -> Result<Option<u64>, SymbolError> {
    let mut met = Interned::default();
    let (mut last, mut count) = (None, 0);
    for row in rows {
        let row = row?;
        count += 1;
        if last.replace(row) == Some(row) {
            continue;
        }
        let known = met.count();
        met.number(row);
        if met.count() == known {
            return Ok(None);
        }
    }
    Ok(Some(count))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::watch::Tally, *};

    fn table(folder: &std::path::Path, layout: SymbolLayout, symbols: &[&str]) -> Table {
        let domain = ["zz", "b", "a"];
        let text = |symbols: &[&str]| -> Vec<u8> {
            symbols.iter().flat_map(|symbol| [symbol.as_bytes(), b"\0"].concat()).collect()
        };
        let header = |layout: Layout, count: usize| {
            layout.header(Header { attribute: Attribute::None, count: count as u64 })
        };
        let of_domain = |symbol: &&str| domain.iter().position(|known| known == symbol).unwrap();
        let column = match layout {
            SymbolLayout::Plain => text(symbols),
            SymbolLayout::Enumerated => {
                symbols.iter().flat_map(|symbol| (of_domain(symbol) as u64).to_le_bytes()).collect()
            }
        };
        let floats: Vec<u64> = (0..symbols.len()).map(|row| (row as f64).to_bits()).collect();
        let table = Table {
            symbols: folder.join("sym"),
            floats: folder.join("floatcol"),
            domain: folder.join("domain"),
            layout,
            threads: 3,
            set: SetHow::chunks(4096),
        };
        let write = |path: &PathBuf, head: Vec<u8>, body: &[u8]| {
            fs::write(path, [&head, body].concat()).unwrap();
        };
        write(&table.symbols, header(layout.layout(), symbols.len()), &column);
        write(&table.floats, header(FLOATS, floats.len()), bytes_of(&floats));
        write(&table.domain, header(Layout::PlainSymbols, 3), &text(&domain));
        table
    }

    #[test]
    fn a_table_is_sorted_stably_in_both_layouts() {
        for (layout, sorted) in [
            (SymbolLayout::Plain, b"a\0a\0b\0b\0zz\0".to_vec()),
            (
                SymbolLayout::Enumerated,
                [2u64, 2, 1, 1, 0].iter().flat_map(|i| i.to_le_bytes()).collect(),
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let table = table(folder.path(), layout, &["b", "zz", "a", "b", "a"]);
            let mut tally = Tally::default();
            let done = table.sort(&mut tally).unwrap();
            let (symbols, floats) =
                (fs::read(&table.symbols).unwrap(), fs::read(&table.floats).unwrap());
            assert_eq!((done.rows, done.written_bytes), (5, (symbols.len() + floats.len()) as u64));
            let header = layout.layout().parse(&symbols).unwrap();
            assert_eq!(header, Header { attribute: Attribute::Sorted, count: 5 });
            assert_eq!(symbols[layout.layout().header_bytes()..], sorted);
            let rows = [2.0, 4.0, 0.0, 3.0, 1.0f64].map(f64::to_bits);
            assert_eq!(&floats[16..], bytes_of(&rows));
            assert!(tally.count >= 2);
        }
    }

    #[test]
    fn a_sorted_table_takes_the_parted_attribute_and_another_does_not() {
        for layout in [SymbolLayout::Plain, SymbolLayout::Enumerated] {
            let folder = tempfile::tempdir().unwrap();
            let table = table(folder.path(), layout, &["b", "a", "b"]);
            let fault = table.add_parted(&mut Tally::default()).unwrap_err();
            assert!(fault.to_string().ends_with("is not parted"), "{fault}");
            table.sort(&mut Tally::default()).unwrap();
            let before = fs::read(&table.symbols).unwrap();
            assert_eq!(table.add_parted(&mut Tally::default()).unwrap().rows, 3);
            let after = fs::read(&table.symbols).unwrap();
            let header = layout.layout().parse(&after).unwrap();
            assert_eq!(header, Header { attribute: Attribute::Parted, count: 3 });
            let body = layout.layout().header_bytes();
            assert_eq!(before[body..], after[body..]);
        }
    }

    #[test]
    fn columns_of_different_lengths_are_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let table = table(folder.path(), SymbolLayout::Plain, &["b", "a"]);
        let mut symbols = fs::read(&table.symbols).unwrap();
        symbols.extend(b"a\0");
        fs::write(&table.symbols, symbols).unwrap();
        let fault = table.sort(&mut Tally::default()).unwrap_err();
        assert!(matches!(fault, Fault::Wrong { .. }), "{fault}");
    }

    #[test]
    fn long_runs_are_written_in_whole_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let symbols: Vec<&str> = (0..20_000).map(|row| ["b", "a", "zz"][row % 3]).collect();
        let table = table(folder.path(), SymbolLayout::Plain, &symbols);
        table.sort(&mut Tally::default()).unwrap();
        let file = fs::read(&table.symbols).unwrap();
        let rows: Vec<u64> = packed_symbols(&file[8..]).unwrap();
        assert_eq!((rows.len(), rows.is_sorted()), (20_000, true));
    }
}
