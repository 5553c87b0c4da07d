//! Makes an image by hand: `cargo run -p pickfs-mkfs --example make_image -- hpfs disk.img 256`,
//! with the size in MiB. Refuses a file that holds something.

use std::fs::OpenOptions;

use pickfs_mkfs::{Kind, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, path, mib] = words.as_slice() else {
        return Err("say KIND FILE MIB".into());
    };
    let kind: Kind = kind.parse()?;
    let size_bytes = mib.parse::<u64>()? << 20;
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    println!("{}", kind.format(&file, size_bytes, &Options::default())?);
    Ok(())
}
