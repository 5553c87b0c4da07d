//! The whole recipe: needs apt with the source of the kernel, a compiler, the network and minutes. So
//! it is done where `PICKFS_BUILD_MODULES` names a folder: one with user-mode-linux unpacked in it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use pickfs_modules::{Module, UmlKernel, Workshop};

#[test]
fn both_modules_are_built_for_the_version_of_the_kernel() {
    let Some(package) = std::env::var_os("PICKFS_BUILD_MODULES") else {
        println!("SKIPPED(build ring): PICKFS_BUILD_MODULES names no unpacked user-mode-linux");
        return;
    };
    let kernel = UmlKernel::of_package(Path::new(&package)).unwrap();
    let cache = tempfile::tempdir().unwrap();
    let workshop = Workshop::new(cache.path(), kernel.clone());
    for module in Module::ALL {
        let file = match workshop.built(module) {
            Err(error) if error.is_skip() => {
                println!("SKIPPED(build ring): {error}");
                return;
            }
            other => other.unwrap(),
        };
        let bytes = std::fs::read(&file).unwrap();
        let has = |text: String| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has(format!("vermagic={} ", kernel.release)), "{}", file.display());
        assert!(has(format!("alias=fs-{}\0", module.name())), "{}", file.display());
        assert_eq!(workshop.kept(module), Some(file));
    }
}
