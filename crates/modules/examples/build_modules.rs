//! Builds both modules by hand: `cargo run -p pickfs-modules --example build_modules -- PACKAGE CACHE`,
//! where PACKAGE is a folder with user-mode-linux unpacked in it.

use std::path::Path;

use pickfs_modules::{Module, UmlKernel, Workshop};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [package, cache] = words.as_slice() else {
        return Err("say PACKAGE CACHE".into());
    };
    let workshop = Workshop::new(Path::new(cache), UmlKernel::of_package(Path::new(package))?);
    for module in Module::ALL {
        println!("{}\n  {}", workshop.built(module)?.display(), module.remark());
    }
    Ok(())
}
