//! What was written, worked out again and compared with what stands in the files.

use std::{fs::File, io, io::Read, iter::once, path::Path};

use super::{
    files::{Column, Of, lists},
    get::{get, map_fault},
    lane::Lane,
    layout::{Attribute, Header, Layout, wrong},
    list::List,
    sizes::BINARY_REPEATS,
    symbols::{Domain, Draw},
    table::Table,
};
use crate::fault::Fault;

const STEP: u64 = 1 << 17;

#[derive(Debug, Clone, Default)]
pub(super) struct Replaced {
    indexes: Vec<u64>,
    value: u64,
}

impl Replaced {
    const NOTHING: &'static Replaced = &Replaced { indexes: Vec::new(), value: 0 };

    pub(super) fn new(mut indexes: Vec<u64>, value: u64) -> Replaced {
        indexes.sort_unstable();
        Replaced { indexes, value }
    }

    /// Over the elements from an index on.
    fn lay_over(&self, from: u64, bytes: &mut [u8]) {
        let first = self.indexes.partition_point(|index| *index < from);
        let end = from + bytes.len() as u64 / 8;
        for index in self.indexes[first..].iter().take_while(|index| **index < end) {
            bytes[8 * (index - from) as usize..][..8].copy_from_slice(&self.value.to_le_bytes());
        }
    }

    fn element(&self, index: u64, otherwise: u64) -> u64 {
        if self.indexes.binary_search(&index).is_ok() { self.value } else { otherwise }
    }
}

/// Gives how many files were compared.
pub(super) fn compare(path: &Path, expected: impl Iterator<Item = Vec<u8>>) -> Result<u64, Fault> {
    let mut file = File::open(path).map_err(Fault::io("open", path))?;
    let (mut offset_bytes, mut found) = (0, Vec::new());
    for expected in expected {
        let end_bytes = offset_bytes + expected.len() as u64;
        found.resize(expected.len(), 0);
        let read = file.read_exact(&mut found);
        if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof) {
            return Err(wrong(path, format_args!("ends before byte {end_bytes}")));
        }
        read.map_err(Fault::io("read back", path))?;
        if found != expected {
            let at = found.iter().zip(&expected).position(|(a, b)| a != b).unwrap_or(0);
            let (found, expected) = (found[at], expected[at]);
            let offset = offset_bytes + at as u64;
            let what = format!("differs: byte {offset} is {found:#04x} instead of {expected:#04x}");
            return Err(wrong(path, what));
        }
        offset_bytes = end_bytes;
    }
    let length = file.metadata().map_err(Fault::io("fstat", path))?.len();
    if length != offset_bytes {
        return Err(wrong(path, format_args!("has {length} bytes instead of {offset_bytes}")));
    }
    Ok(1)
}

fn pieces(list: List, replaced: &Replaced) -> impl Iterator<Item = Vec<u8>> + use<'_> {
    (0..list.count).step_by(STEP as usize).map(move |from| {
        let mut bytes = list.bytes(from..list.count.min(from + STEP));
        replaced.lay_over(from, &mut bytes);
        bytes
    })
}

pub(super) struct TableContent<'a> {
    pub(super) domain: &'a Domain,
    pub(super) draw: Draw,
    pub(super) floats: List,
    pub(super) replaced: &'a Replaced,
    pub(super) copies: u64,
}

impl<'a> TableContent<'a> {
    pub(super) fn of(lane: &'a Lane) -> TableContent<'a> {
        TableContent {
            domain: &lane.data.domain,
            draw: lane.data.draw(),
            floats: lane.data.list(Of::Large),
            replaced: &lane.replaced[Of::Large as usize],
            copies: 1 + lane.sizes.mid_appends,
        }
    }

    fn rows(&self) -> u64 {
        self.draw.count * self.copies
    }

    fn check_floats(&self, path: &Path) -> Result<u64, Fault> {
        let header = Layout::Floats.header(Attribute::None, self.rows());
        let appended = (1..self.copies).flat_map(|_| pieces(self.floats, Replaced::NOTHING));
        compare(path, once(header).chain(pieces(self.floats, self.replaced)).chain(appended))
    }

    fn check_symbols(&self, path: &Path, layout: Layout) -> Result<u64, Fault> {
        let header = layout.header(Attribute::None, self.rows());
        let starts = (0..self.copies).flat_map(|_| (0..self.draw.count).step_by(STEP as usize));
        let pieces = starts.map(|from| {
            let range = from..self.draw.count.min(from + STEP);
            self.domain.column(layout, range.map(|index| self.draw.number(index)))
        });
        compare(path, once(header).chain(pieces))
    }

    /// The sorted table: its symbols ascend, every row is there, and rows of one symbol stand in the
    /// order in which they were written. Nothing of the sort's own arithmetic is used.
    pub(super) fn check_sorted(&self, table: &Table, attribute: Attribute) -> Result<u64, Fault> {
        let sorted = self.domain.sorted();
        let mut ranks = vec![0; sorted.len()];
        (0..).zip(&sorted).for_each(|(rank, number)| ranks[*number as usize] = rank);
        let rank = |index| ranks[self.draw.number(index) as usize];
        let mut counts = vec![0u64; sorted.len()];
        (0..self.draw.count).for_each(|index| counts[rank(index)] += self.copies);
        let runs = sorted.iter().zip(&counts).map(|(number, count)| {
            self.domain.column(table.layout, std::iter::repeat_n(*number, *count as usize))
        });
        let header = table.layout.header(attribute, self.rows());
        compare(&table.symbols, once(header).chain(runs))?;
        let column = get(&table.floats, Layout::Floats)?;
        let (found, rows) = (column.count() as u64, self.rows());
        let file = File::open(&table.floats).map_err(Fault::io("open", &table.floats))?;
        let header = Layout::Floats.read(&file, &table.floats)?;
        if header != (Header { attribute: Attribute::None, count: rows }) || found != rows {
            return Err(wrong(&table.floats, format_args!("has {found} rows instead of {rows}")));
        }
        let starts = counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum - count)
        });
        let mut next: Vec<u64> = starts.collect();
        for row in 0..rows {
            let index = row % self.draw.count;
            let (place, expected) = (&mut next[rank(index)], self.float(row, index));
            let mut found = [0];
            column.gather([*place], &mut found).map_err(map_fault)?;
            if found != [expected] {
                let [found] = found;
                let what = format!(
                    "differs: row {place} of the sorted table is {found:#x} instead of {expected:#x}"
                );
                return Err(wrong(&table.floats, what));
            }
            *place += 1;
        }
        Ok(2)
    }

    /// Only the first copy was there when elements were replaced.
    fn float(&self, row: u64, index: u64) -> u64 {
        let written = self.floats.element(index);
        if row == index { self.replaced.element(index, written) } else { written }
    }
}

/// All that the write suite has left.
pub(super) fn check_written(lane: &mut Lane) -> Result<(), Fault> {
    check_lists(lane)?;
    let table = lane.table();
    lane.checked += TableContent::of(lane).check_symbols(&table.symbols, table.layout)?;
    lane.checked += compare(&table.domain, once(lane.data.domain.file()))?;
    let (windows, appends) = (lane.data.windows(Of::RandomFiles), lane.sizes.random_appends);
    for (path, number) in lane.files.random().iter().zip(0..) {
        let header = Layout::Longs.header(Attribute::None, lane.sizes.random_file());
        let appended = (appends * number..).take(appends as usize);
        let appended = appended.map(|append| windows.at(append).to_vec());
        lane.checked += compare(path, once(header).chain(appended))?;
    }
    Ok(())
}

pub(super) fn check_lists(lane: &mut Lane) -> Result<(), Fault> {
    for Column { of, file, .. } in lists() {
        let (path, list) = (lane.files.at(file), lane.data.list(*of));
        lane.checked += if *of == Of::Large {
            TableContent::of(lane).check_floats(&path)?
        } else {
            let header = Layout::Longs.header(Attribute::None, list.count);
            compare(&path, once(header).chain(pieces(list, &lane.replaced[*of as usize])))?
        };
    }
    Ok(())
}

pub(super) fn check_binary(lane: &mut Lane, found: &[u8]) -> Result<(), Fault> {
    let small = lane.data.list(Of::Small).whole();
    let header = Layout::Longs.header(Attribute::None, lane.sizes.small * BINARY_REPEATS);
    let is_right = found.strip_prefix(&header[..]).is_some_and(|body| {
        let lists = body.chunks(small.len());
        lists.len() as u64 == BINARY_REPEATS && { lists }.all(|list| list == small)
    });
    lane.checked += 1;
    let wrong = || Fault::Wrong { what: "readbinary holds other bytes than were written".into() };
    if is_right { Ok(()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::{
            list::ListKind,
            set::{SetHow, unkept},
        },
        *,
    };

    const SEED: u64 = 11;

    fn content<'a>(domain: &'a Domain, replaced: &'a Replaced) -> TableContent<'a> {
        let floats = List::new(ListKind::Float, false, 3000, SEED);
        TableContent { domain, draw: Draw { count: 3000, seed: SEED }, floats, replaced, copies: 2 }
    }

    fn written(folder: &Path, content: &TableContent<'_>, layout: Layout) -> Table {
        let table = Table {
            symbols: folder.join("sym"),
            floats: folder.join("floatcol"),
            domain: folder.join("domain"),
            layout,
            threads: 3,
            set: SetHow::chunks(4096),
        };
        let numbers = (0..6000).map(|row| content.draw.number(row % 3000));
        let symbols = content.domain.column(layout, numbers);
        let header = |layout: Layout| layout.header(Attribute::None, 6000);
        fs::write(&table.symbols, [header(layout), symbols].concat()).unwrap();
        let floats = (0..6000).flat_map(|row| content.float(row, row % 3000).to_le_bytes());
        fs::write(&table.floats, [header(Layout::Floats), floats.collect()].concat()).unwrap();
        fs::write(&table.domain, content.domain.file()).unwrap();
        table
    }

    fn damaged(path: &Path, offset: usize, check: impl Fn() -> Result<u64, Fault>) -> String {
        let before = fs::read(path).unwrap();
        let mut bytes = before.clone();
        bytes[offset] ^= 1;
        fs::write(path, bytes).unwrap();
        let fault = check().unwrap_err();
        fs::write(path, before).unwrap();
        assert!(matches!(fault, Fault::Wrong { .. }), "{fault}");
        fault.to_string()
    }

    const LAYOUTS: [Layout; 2] = [Layout::PlainSymbols, Layout::EnumeratedSymbols];

    #[test]
    fn every_kind_of_damage_to_an_unsorted_table_is_found() {
        let (folder, domain) = (tempfile::tempdir().unwrap(), Domain::new(1));
        let replaced = Replaced::new(vec![7, 2999, 0], 42);
        let content = content(&domain, &replaced);
        for layout in LAYOUTS {
            let table = written(folder.path(), &content, layout);
            let floats = || content.check_floats(&table.floats);
            let symbols = || content.check_symbols(&table.symbols, layout);
            floats().unwrap();
            symbols().unwrap();
            for offset in [2, 8, 16, 16 + 8 * 7, 16 + 8 * 3007, 16 + 8 * 6000 - 1] {
                let said = damaged(&table.floats, offset, floats);
                assert!(said.contains(&format!("byte {offset} is")), "{said}");
            }
            damaged(&table.symbols, layout.header_bytes() - 4, symbols);
            damaged(&table.symbols, layout.header_bytes() + 4000, symbols);
            let fault = table.add_parted(&mut unkept).unwrap_err();
            assert!(fault.to_string().ends_with("is not parted"), "{fault}");
            let file = fs::OpenOptions::new().write(true).open(&table.floats).unwrap();
            for (length, said) in [(5, "has 48021 bytes instead"), (-1, "ends before byte")] {
                file.set_len((16 + 8 * 6000i64 + length) as u64).unwrap();
                assert!(floats().unwrap_err().to_string().contains(said));
            }
            assert!(matches!(table.sort(&mut unkept).unwrap_err(), Fault::Wrong { .. }));
        }
    }

    #[test]
    fn a_sorted_table_is_known_again_and_damage_is_found() {
        let (folder, domain) = (tempfile::tempdir().unwrap(), Domain::new(1));
        let replaced = Replaced::new(vec![5, 100], 42);
        let content = content(&domain, &replaced);
        for layout in LAYOUTS {
            let table = written(folder.path(), &content, layout);
            let check = || content.check_sorted(&table, Attribute::Sorted);
            assert!(check().is_err(), "it is not sorted yet");
            let done = table.sort(&mut unkept).unwrap();
            let bytes = [&table.symbols, &table.floats].map(|path| fs::read(path).unwrap().len());
            assert_eq!((done.rows, done.written_bytes), (6000, (bytes[0] + bytes[1]) as u64));
            check().unwrap();
            let said = damaged(&table.floats, 16 + 8 * 1234, check);
            assert!(said.contains("row 1234 of the sorted table"), "{said}");
            damaged(&table.floats, 8, check);
            damaged(&table.symbols, layout.header_bytes() + 8, check);
            assert_eq!(table.add_parted(&mut unkept).unwrap().rows, 6000);
            content.check_sorted(&table, Attribute::Parted).unwrap();
        }
    }

    #[test]
    fn two_rows_of_one_symbol_that_changed_places_are_found() {
        let (folder, domain) = (tempfile::tempdir().unwrap(), Domain::new(1));
        let content = content(&domain, Replaced::NOTHING);
        let table = written(folder.path(), &content, Layout::PlainSymbols);
        table.sort(&mut unkept).unwrap();
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
}
