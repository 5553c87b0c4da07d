use std::fs;

use pickfs_candidate::fs::{FileSystem, find};
use pickfs_guest::{
    Kernel, PackageCache,
    package_set::{Members, PackageSet},
};
use pickfs_modules::{KernelSource, MODULES, Module, OPENZFS, Workshop};

use crate::terminal;

const ZFS_SOURCE: PackageSet<'_> = PackageSet { main: "zfs-dkms", members: Members::Listed(&[]) };

pub fn build_modules(
    cache: &PackageCache,
    kernel: &Kernel,
    names: &[String],
) -> anyhow::Result<()> {
    let types: Vec<_> =
        names.iter().filter_map(|name| find(name)).map(FileSystem::type_in_a_guest).collect();
    let is_asked = |module: &str| names.is_empty() || types.contains(&module);
    let folder = cache.cache().join("modules");
    let mut source = KernelSource {
        release: kernel.release.clone(),
        version: kernel.package.split(' ').nth(1).unwrap_or_default().to_owned(),
        ..KernelSource::default()
    };
    let is_kept = |name: &str| Workshop::new(&folder, source.clone()).kept(name).is_some();
    let modules = MODULES.into_iter().filter(|module| is_asked(module.name));
    let missing: Vec<Module> = modules.filter(|module| !is_kept(module.name)).collect();
    let is_zfs_missing = is_asked(OPENZFS) && !is_kept(OPENZFS);
    if missing.is_empty() && !is_zfs_missing {
        return Ok(());
    }
    let headers = format!("linux-headers-{}", kernel.release);
    source.headers =
        PackageSet { main: &headers, members: Members::WithMissing }.get(cache)?.folder;
    if !missing.is_empty() {
        let package = source.source_package();
        let set = PackageSet { main: &package, members: Members::Listed(&[]) };
        let unpacked = set.get(cache)?;
        anyhow::ensure!(
            unpacked.version == source.version,
            "{package} is to be had as {}, and the kernel is {}; empty `packages` in {} for a newer one",
            unpacked.version,
            source.version,
            cache.cache().display()
        );
        source.source = unpacked.folder;
    }
    let workshop = Workshop::new(&folder, source.clone());
    for module in missing {
        terminal::line(&format!("{}: {}", workshop.built(module)?.display(), module.remark));
    }
    // Large, and of no use any more.
    let _ = fs::remove_dir_all(source.source);
    if is_zfs_missing {
        let source = ZFS_SOURCE.get(cache)?;
        terminal::line(&format!(
            "OpenZFS {} is built: four minutes where two processors are free",
            source.version
        ));
        terminal::line(&workshop.built_openzfs(&source.folder)?.display().to_string());
    }
    Ok(())
}
