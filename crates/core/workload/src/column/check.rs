use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use pickfs_sys::elements::bytes_of;

use super::{
    get::{get, map_fault},
    layout::{Attribute, Header},
    list::{List, Windows},
    symbols::{Domain, Draw, SymbolLayout},
    table::{FLOATS, Table},
};
use crate::fault::Fault;

const STEP: usize = 1 << 17;

#[derive(Debug, Clone, Default)]
pub(super) struct Replaced {
    indexes: Vec<u64>,
    value: u64,
}

impl Replaced {
    pub(super) fn new(mut indexes: Vec<u64>, value: u64) -> Replaced {
        indexes.sort_unstable();
        Replaced { indexes, value }
    }

    pub(super) fn is_some(&self) -> bool {
        !self.indexes.is_empty()
    }

    fn lay_over(&self, from: u64, elements: &mut [u64]) {
        let first = self.indexes.partition_point(|index| *index < from);
        let end = from + elements.len() as u64;
        let inside = self.indexes[first..].iter().take_while(|index| **index < end);
        inside.for_each(|index| elements[(index - from) as usize] = self.value);
    }

    fn element(&self, index: u64, otherwise: u64) -> u64 {
        if self.indexes.binary_search(&index).is_ok() { self.value } else { otherwise }
    }
}

pub(super) struct Compared {
    file: File,
    path: PathBuf,
    offset_bytes: u64,
    found: Vec<u8>,
}

impl Compared {
    pub(super) fn open(path: &Path) -> Result<Compared, Fault> {
        let file = File::open(path).map_err(Fault::io("open", path))?;
        Ok(Compared { file, path: path.to_owned(), offset_bytes: 0, found: Vec::new() })
    }

    pub(super) fn bytes(&mut self, expected: &[u8]) -> Result<(), Fault> {
        self.found.resize(expected.len(), 0);
        let read = self.file.read_exact(&mut self.found);
        if read.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof) {
            return Err(self.wrong(format_args!(
                "ends before byte {}",
                self.offset_bytes + expected.len() as u64
            )));
        }
        read.map_err(Fault::io("read back", &self.path))?;
        if self.found != expected {
            let at = self.found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(0);
            let (found, expected) = (self.found[at], expected[at]);
            let offset = self.offset_bytes + at as u64;
            return Err(self
                .wrong(format_args!("byte {offset} is {found:#04x} instead of {expected:#04x}")));
        }
        self.offset_bytes += expected.len() as u64;
        Ok(())
    }

    pub(super) fn list(&mut self, list: &List, replaced: &Replaced) -> Result<(), Fault> {
        let mut elements = vec![0; STEP.min(list.count() as usize)];
        let mut from = 0;
        while from < list.count() {
            let length = (list.count() - from).min(STEP as u64) as usize;
            list.fill(from, &mut elements[..length]);
            replaced.lay_over(from, &mut elements[..length]);
            self.bytes(bytes_of(&elements[..length]))?;
            from += length as u64;
        }
        Ok(())
    }

    pub(super) fn appends(&mut self, windows: &Windows, count: u64) -> Result<(), Fault> {
        (0..count).try_for_each(|append| self.bytes(bytes_of(windows.at(append))))
    }

    pub(super) fn symbols(
        &mut self,
        draw: &Draw,
        domain: &Domain,
        layout: SymbolLayout,
    ) -> Result<(), Fault> {
        let mut from = 0;
        while from < draw.count {
            let end = (from + STEP as u64).min(draw.count);
            let numbers = (from..end).map(|index| draw.number(index));
            self.bytes(&layout.bytes(domain, numbers))?;
            from = end;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<(), Fault> {
        let length = self.file.metadata().map_err(Fault::io("fstat", &self.path))?.len();
        let known = self.offset_bytes;
        if length != known {
            return Err(self.wrong(format_args!("has {length} bytes instead of {known}")));
        }
        Ok(())
    }

    fn wrong(&mut self, what: std::fmt::Arguments<'_>) -> Fault {
        Fault::Wrong { what: format!("{}: {what}", self.path.display()) }
    }
}

pub(super) struct TableContent<'a> {
    pub(super) domain: &'a Domain,
    pub(super) draw: Draw,
    pub(super) floats: List,
    pub(super) replaced: &'a Replaced,
    pub(super) copies: u64,
}

impl TableContent<'_> {
    fn rows(&self) -> u64 {
        self.draw.count * self.copies
    }

    pub(super) fn check_floats(&self, path: &Path, header: &[u8]) -> Result<(), Fault> {
        let mut compared = Compared::open(path)?;
        compared.bytes(header)?;
        compared.list(&self.floats, self.replaced)?;
        for _ in 1..self.copies {
            compared.list(&self.floats, &Replaced::default())?;
        }
        compared.end()
    }

    pub(super) fn check_symbols(&self, path: &Path, layout: SymbolLayout) -> Result<(), Fault> {
        let header = Header { attribute: Attribute::None, count: self.rows() };
        let mut compared = Compared::open(path)?;
        compared.bytes(&layout.layout().header(header))?;
        for _ in 0..self.copies {
            compared.symbols(&self.draw, self.domain, layout)?;
        }
        compared.end()
    }

    /// The sorted table: its symbols ascend, every row is there, and rows of one symbol stand in the
    /// order in which they were written. Nothing of the sort's own arithmetic is used.
    pub(super) fn check_sorted(&self, table: &Table, attribute: Attribute) -> Result<(), Fault> {
        let ranks = self.domain.ranks();
        let mut counts = vec![0u64; ranks.len()];
        for index in 0..self.draw.count {
            counts[ranks[self.draw.number(index) as usize] as usize] += self.copies;
        }
        let mut by_rank = vec![0; ranks.len()];
        for (number, rank) in (0..).zip(&ranks) {
            by_rank[*rank as usize] = number;
        }
        let header = Header { attribute, count: self.rows() };
        let mut compared = Compared::open(&table.symbols)?;
        compared.bytes(&table.layout.layout().header(header))?;
        for (number, count) in by_rank.into_iter().zip(&counts) {
            let symbol = table.layout.bytes(self.domain, [number].into_iter());
            compared.bytes(&symbol.repeat(*count as usize))?;
        }
        compared.end()?;
        let mut next = 0;
        let starts = counts.iter().map(|count| {
            next += count;
            next - count
        });
        self.check_places(table, &ranks, starts.collect())
    }

    fn check_places(&self, table: &Table, ranks: &[u32], mut next: Vec<u64>) -> Result<(), Fault> {
        let column = get(&table.floats, FLOATS)?;
        let header = Header { attribute: Attribute::None, count: self.rows() };
        if column.header != header || column.elements.count() as u64 != self.rows() {
            let (found, rows) = (column.elements.count(), self.rows());
            let what = format!("{}: {found} rows instead of {rows}", table.floats.display());
            return Err(Fault::Wrong { what });
        }
        let (mut places, mut expected) = (Vec::with_capacity(STEP), Vec::with_capacity(STEP));
        for row in 0..self.rows() {
            let index = row % self.draw.count;
            let place = &mut next[ranks[self.draw.number(index) as usize] as usize];
            places.push(*place);
            *place += 1;
            expected.push(self.float(row, index));
            if places.len() == STEP || row + 1 == self.rows() {
                let mut found = vec![0; places.len()];
                column.elements.gather(&places, &mut found).map_err(map_fault)?;
                if let Some(at) = (0..found.len()).find(|at| found[*at] != expected[*at]) {
                    let (path, place) = (table.floats.display(), places[at]);
                    let what = format!(
                        "{path}: row {place} of the sorted table is {:#x} instead of {:#x}",
                        found[at], expected[at]
                    );
                    return Err(Fault::Wrong { what });
                }
                places.clear();
                expected.clear();
            }
        }
        Ok(())
    }

    /// Only the first copy was there when elements were replaced.
    fn float(&self, row: u64, index: u64) -> u64 {
        let written = self.floats.element(index);
        if row == index { self.replaced.element(index, written) } else { written }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::{
            list::{ListKind, Profile},
            set::SetHow,
            watch::Tally,
        },
        *,
    };

    const SEED: u64 = 11;

    fn content<'a>(domain: &'a Domain, replaced: &'a Replaced) -> TableContent<'a> {
        TableContent {
            domain,
            draw: Draw { count: 3000, seed: SEED },
            floats: List::new(ListKind::Float, Profile::Random, 3000, SEED),
            replaced,
            copies: 2,
        }
    }

    fn written(folder: &Path, content: &TableContent<'_>, layout: SymbolLayout) -> Table {
        let table = Table {
            symbols: folder.join("sym"),
            floats: folder.join("floatcol"),
            domain: folder.join("domain"),
            layout,
            threads: 2,
            set: SetHow::chunks(1 << 16),
        };
        let numbers = (0..6000).map(|row| content.draw.number(row % 3000));
        let header = |layout: super::super::layout::Layout| {
            layout.header(Header { attribute: Attribute::None, count: 6000 })
        };
        let symbols = layout.bytes(content.domain, numbers);
        fs::write(&table.symbols, [header(layout.layout()), symbols].concat()).unwrap();
        let floats: Vec<u64> = (0..6000).map(|row| content.float(row, row % 3000)).collect();
        fs::write(&table.floats, [&header(FLOATS), bytes_of(&floats)].concat()).unwrap();
        fs::write(&table.domain, content.domain.file()).unwrap();
        table
    }

    fn damaged(path: &Path, offset: usize, check: impl Fn() -> Result<(), Fault>) -> String {
        let whole = fs::read(path).unwrap();
        let mut bytes = whole.clone();
        bytes[offset] ^= 1;
        fs::write(path, &bytes).unwrap();
        let fault = check().unwrap_err();
        assert!(matches!(fault, Fault::Wrong { .. }), "{fault}");
        fs::write(path, whole).unwrap();
        fault.to_string()
    }

    #[test]
    fn every_kind_of_damage_to_an_unsorted_table_is_found() {
        let (folder, domain) = (tempfile::tempdir().unwrap(), Domain::new(1));
        let replaced = Replaced::new(vec![7, 2999, 0], 42);
        let content = content(&domain, &replaced);
        for layout in [SymbolLayout::Plain, SymbolLayout::Enumerated] {
            let table = written(folder.path(), &content, layout);
            let header = FLOATS.header(Header { attribute: Attribute::None, count: 6000 });
            let floats = || content.check_floats(&table.floats, &header);
            let symbols = || content.check_symbols(&table.symbols, layout);
            floats().unwrap();
            symbols().unwrap();
            for offset in [2, 8, 16, 16 + 8 * 7, 16 + 8 * 3007, 16 + 8 * 6000 - 1] {
                let said = damaged(&table.floats, offset, floats);
                assert!(said.contains(&format!("byte {offset} is")), "{said}");
            }
            damaged(&table.symbols, 4, symbols);
            damaged(&table.symbols, layout.layout().header_bytes() + 4000, symbols);
            let file = fs::OpenOptions::new().write(true).open(&table.floats).unwrap();
            file.set_len(16 + 8 * 6000 - 1).unwrap();
            assert!(floats().unwrap_err().to_string().contains("ends before byte"));
        }
    }

    #[test]
    fn a_longer_file_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let list = List::new(ListKind::Long, Profile::Nano, 100, SEED);
        fs::write(&path, [bytes_of(&list.whole()), b"more"].concat()).unwrap();
        let mut compared = Compared::open(&path).unwrap();
        compared.list(&list, &Replaced::default()).unwrap();
        assert!(compared.end().unwrap_err().to_string().contains("has 804 bytes instead of 800"));
    }

    #[test]
    fn a_sorted_table_is_known_again_and_damage_is_found() {
        let (folder, domain) = (tempfile::tempdir().unwrap(), Domain::new(1));
        let replaced = Replaced::new(vec![5, 100], 42);
        let content = content(&domain, &replaced);
        for layout in [SymbolLayout::Plain, SymbolLayout::Enumerated] {
            let table = written(folder.path(), &content, layout);
            let check = || content.check_sorted(&table, Attribute::Sorted);
            assert!(check().is_err(), "it is not sorted yet");
            table.sort(&mut Tally::default()).unwrap();
            check().unwrap();
            assert!(content.check_sorted(&table, Attribute::Parted).is_err());
            let said = damaged(&table.floats, 16 + 8 * 1234, check);
            assert!(said.contains("row 1234 of the sorted table"), "{said}");
            damaged(&table.floats, 8, check);
            damaged(&table.symbols, layout.layout().header_bytes() + 8, check);
        }
    }

    #[test]
    fn two_rows_of_one_symbol_that_changed_places_are_found() {
        let (folder, domain) = (tempfile::tempdir().unwrap(), Domain::new(1));
        let replaced = Replaced::default();
        let content = content(&domain, &replaced);
        let table = written(folder.path(), &content, SymbolLayout::Plain);
        table.sort(&mut Tally::default()).unwrap();
        let mut floats = fs::read(&table.floats).unwrap();
        let symbols = fs::read(&table.symbols).unwrap();
        let is_pair = |row: usize| symbols[8 + 5 * row..][..5] == symbols[13 + 5 * row..][..5];
        let row = (0..5999)
            .find(|row| is_pair(*row) && floats[16 + 8 * row..][..8] != floats[24 + 8 * row..][..8])
            .unwrap();
        let (first, second) = floats[16 + 8 * row..][..16].split_at_mut(8);
        first.swap_with_slice(second);
        fs::write(&table.floats, floats).unwrap();
        assert!(content.check_sorted(&table, Attribute::Sorted).is_err());
    }

    #[test]
    fn replaced_elements_are_laid_over_parts() {
        let replaced = Replaced::new(vec![9, 2, 5], 1);
        let mut part = [0; 4];
        replaced.lay_over(3, &mut part);
        assert_eq!(part, [0, 0, 1, 0]);
        assert_eq!((replaced.element(9, 7), replaced.element(8, 7)), (1, 7));
    }
}
