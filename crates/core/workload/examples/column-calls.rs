//! Makes one of the column store's calls on files in a directory and prints the seconds that it
//! took, input made and files opened before.
//!
//! ```text
//! column-calls write DIR MIB            a new file `column` of MIB mebibytes (removed before)
//! column-calls reserved DIR MIB         the same, its space reserved before
//! column-calls read DIR                 read1 of `column`: all of it into fresh memory
//! column-calls resident DIR             get of `column`, one byte of each page touched
//! column-calls random DIR READS BYTES   READS blocks of BYTES gathered from the mapped `column`
//! column-calls make-table DIR ROWS      `sym` and `floatcol`, unsorted
//! column-calls sort DIR THREADS         both sorted by sym and written anew
//! ```

use std::{error::Error, fs, path::Path, time::Instant};

use pickfs_workload::column::{
    Attribute, Blocks, Domain, Draw, Layout, List, ListKind, ReadBy, SetHow, Table, Touch, get,
    read1, set, unkept,
};

const CHUNK_BYTES: usize = 16 << 20;
const HOW: SetHow = SetHow { chunk_bytes: CHUNK_BYTES, is_reserved: false };
const SEED: u64 = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let directory = Path::new(words.get(1).ok_or("name a call and a directory")?);
    let number = |at: usize| -> Result<u64, Box<dyn Error>> {
        Ok(words.get(at).ok_or("a number is missing")?.parse()?)
    };
    let seconds = match words[0].as_str() {
        "write" => write(directory, number(2)?, false)?,
        "reserved" => write(directory, number(2)?, true)?,
        "read" => read(directory)?,
        "resident" => resident(directory)?,
        "random" => random(directory, number(2)?, number(3)?)?,
        "make-table" => make_table(directory, number(2)?)?,
        "sort" => sort(directory, number(2)? as usize)?,
        other => return Err(format!("no call {other}").into()),
    };
    println!("{seconds:.9}");
    Ok(())
}

fn write(directory: &Path, mib: u64, is_reserved: bool) -> Result<f64, Box<dyn Error>> {
    let elements = List::new(ListKind::Long, false, mib << 17, SEED).whole();
    let (path, header) =
        (directory.join("column"), Layout::Longs.header(Attribute::None, mib << 17));
    let _ = fs::remove_file(&path);
    let how = SetHow { chunk_bytes: CHUNK_BYTES, is_reserved };
    let start = Instant::now();
    set(&path, &header, &elements, how, &mut unkept)?;
    Ok(start.elapsed().as_secs_f64())
}

fn read(directory: &Path) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let bytes = read1(&directory.join("column"))?;
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(bytes);
    Ok(seconds)
}

fn resident(directory: &Path) -> Result<f64, Box<dyn Error>> {
    let (path, touch) = (directory.join("column"), Touch { hint: None, stride_bytes: 4096 });
    let start = Instant::now();
    let column = get(&path, Layout::Longs)?;
    touch.resident(&column, &path)?;
    Ok(start.elapsed().as_secs_f64())
}

fn random(directory: &Path, reads: u64, block_bytes: u64) -> Result<f64, Box<dyn Error>> {
    let path = directory.join("column");
    let elements = fs::metadata(&path)?.len() / 8;
    let positions = (elements - block_bytes / 8) / 512;
    let blocks = Blocks::new(vec![path], (block_bytes / 8) as usize, (reads, positions), SEED);
    let mut open = blocks.open(ReadBy::Mapped)?;
    let start = Instant::now();
    std::hint::black_box(blocks.read(&mut open, &mut unkept)?);
    Ok(start.elapsed().as_secs_f64())
}

fn table(directory: &Path, threads: usize) -> Table {
    Table {
        symbols: directory.join("sym"),
        floats: directory.join("floatcol"),
        domain: directory.join("domain"),
        layout: Layout::PlainSymbols,
        threads,
        set: HOW,
    }
}

fn make_table(directory: &Path, rows: u64) -> Result<f64, Box<dyn Error>> {
    let (domain, draw) = (Domain::new(SEED), Draw { count: rows, seed: SEED });
    let symbols = domain.column(Layout::PlainSymbols, (0..rows).map(|row| draw.number(row)));
    let floats = List::new(ListKind::Float, false, rows, SEED).whole();
    let table = table(directory, 1);
    let start = Instant::now();
    let header = |layout: Layout| layout.header(Attribute::None, rows);
    set(&table.symbols, &header(Layout::PlainSymbols), &symbols, HOW, &mut unkept)?;
    set(&table.floats, &header(Layout::Floats), &floats, HOW, &mut unkept)?;
    Ok(start.elapsed().as_secs_f64())
}

fn sort(directory: &Path, threads: usize) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    table(directory, threads).sort(&mut unkept)?;
    Ok(start.elapsed().as_secs_f64())
}
