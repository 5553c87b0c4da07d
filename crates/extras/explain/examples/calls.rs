//! Runs a command and prints what its file-system calls took.
//!
//! ```text
//! cargo run -p pickfs-explain --example calls -- dd if=/dev/zero of=/dev/null bs=1 count=1000000
//! ```

use std::process::Command;

use pickfs_explain::calls::{CallWatch, WatchOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, words @ ..] = &words[..] else { return Err("PROGRAM [WORDS]".into()) };
    let watch = CallWatch::of_children(&WatchOptions::default())?;
    let status = Command::new(program).args(words).status()?;
    let seen = watch.finish().calls;
    for row in &seen.calls {
        println!("{:16} {:9} calls {:12} ns", row.call, row.service.count, row.total_ns);
    }
    println!("{status}, {:.0} ns a call for tracing, {:?}", seen.cost_ns, seen.counts);
    Ok(())
}
