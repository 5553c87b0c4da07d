//! Says which rule fits recorded stacks: lines of `stacks`' output, or of a file in `stacks/`.
//!
//! ```text
//! cargo run -p pickfs-explain --example classify < recorded
//! ```

use std::io::stdin;

use pickfs_explain::cause::{Causes, plain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for line in stdin().lines() {
        let line = line?;
        let Some((head, frames)) = line.split_once("__schedule") else { continue };
        let frames: Vec<&str> = frames.split(" < ").map(plain).collect();
        let cause = Causes::built_in().of(&frames, &[]);
        println!("{} | {head}| {}", cause.map_or("NONE", |cause| &cause.name), frames.join(" < "));
    }
    Ok(())
}
