//! Modules that a guest's kernel lacks, built from Debian's own source of that kernel: for user-mode Linux with a
//! prepared tree, for the stock kernel against its headers, with OpenZFS.

use pickfs_guest::{
    Engine, Kernel, PackageCache,
    package_set::{Members, PackageSet},
    uml,
};
use pickfs_modules::{Module, StockKernel, StockWorkshop, UmlKernel, Workshop};

use crate::terminal;

/// The package of OpenZFS's source, in section contrib.
const OPENZFS: PackageSet<'_> = PackageSet { main: "zfs-dkms", members: Members::Listed(&[]) };
/// The type of OpenZFS.
const ZFS: &str = "zfs";

/// Builds all that the engine's kernel can have, or those of the file systems in `names`.
pub fn build_modules(
    engine: &dyn Engine,
    cache: &PackageCache,
    kernel: &Kernel,
    names: &[String],
) -> anyhow::Result<()> {
    let folder = cache.cache().join("modules");
    if engine.name() == "uml" {
        let version = kernel.package.split(' ').nth(1).unwrap_or_default();
        let unpacked = cache.get_level(uml::PACKAGE, version)?;
        let workshop = Workshop::new(&folder, UmlKernel::of_package(&unpacked.folder)?);
        for module in Module::ALL {
            terminal::line(&format!("{}: {}", workshop.built(module)?.display(), module.remark()));
        }
        return Ok(());
    }
    let workshop = StockWorkshop::new(&folder, stock(cache, kernel)?);
    let only_zfs = !names.is_empty() && names.iter().all(|name| name == ZFS);
    for module in Module::ALL.into_iter().filter(|_| !only_zfs) {
        terminal::line(&format!("{}: {}", workshop.built(module)?.display(), module.remark()));
    }
    if engine.can_be_rebuilt().contains(&ZFS)
        && (names.is_empty() || names.iter().any(|n| n == ZFS))
    {
        let source = OPENZFS.get(cache)?;
        terminal::line(&format!(
            "OpenZFS {} is built, which takes some twenty minutes",
            source.version
        ));
        terminal::line(&format!("{}", workshop.built_openzfs(&source.folder)?.display()));
    }
    Ok(())
}

fn stock(cache: &PackageCache, kernel: &Kernel) -> anyhow::Result<StockKernel> {
    let package = format!("linux-headers-{}", kernel.release);
    let headers = PackageSet { main: &package, members: Members::WithMissing }.get(cache)?;
    let version = kernel.package.split(' ').nth(1).unwrap_or_default().to_owned();
    Ok(StockKernel { release: kernel.release.clone(), version, headers: headers.folder })
}
