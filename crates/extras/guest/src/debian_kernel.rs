//! Debian's stock kernel, for an emulated machine: the package `linux-image-RELEASE`, unpacked and not installed.
//!
//! ```text
//! CACHE/packages/linux-image-6.1.0-56-amd64_6.1.192-2/   boot/vmlinuz-*, lib/modules/*/kernel, less the drivers
//!                                                        of hardware that no guest has
//! CACHE/kernels/6.1.0-56-amd64_6.1.192-2/vmlinux         the kernel without its wrapping
//! CACHE/kernels/6.1.0-56-amd64_6.1.192-2/modules/        modules that the package holds packed
//! ```

use std::fs;

use crate::{
    apt::SUITES,
    boot_image,
    engine::Kernel,
    modules::ModuleTree,
    packages::{PackageCache, PackageError, Unpacked},
    rebuilt,
    version::Version,
};

/// The series that is taken where none is asked for: it has every driver of the table (reiserfs left with 6.13), and
/// modules are rebuilt for it.
pub const USUAL_SERIES: &str = "6.1";
pub const NEWEST: &str = "linux-image-amd64";
const PREFIX: &str = "linux-image-";
/// Folders of modules that only real hardware wants; four hundred megabytes become seventy.
const NOT_FOR_GUESTS: &str = "sound net drivers/net drivers/gpu drivers/media drivers/infiniband \
    drivers/staging drivers/iio drivers/usb drivers/hwmon drivers/input \
    drivers/hid drivers/isdn drivers/bluetooth drivers/platform \
    drivers/mfd drivers/thunderbolt drivers/comedi drivers/accel";

/// `None`: the usual series. Asks nobody.
pub fn held_release(cache: &PackageCache, wanted: Option<&str>) -> Option<String> {
    let held = held(cache, wanted.unwrap_or(USUAL_SERIES))?;
    held.name.strip_prefix(PREFIX).map(str::to_owned)
}

/// A release, a series or a package's version, fetched when it is not there; else the usual
/// series.
pub fn kernel(cache: &PackageCache, wanted: Option<&str>) -> Result<Kernel, PackageError> {
    let wanted = wanted.unwrap_or(USUAL_SERIES);
    let unpacked = match held(cache, wanted) {
        Some(held) => held,
        None => fetched(cache, wanted)?,
    };
    let release = unpacked.name.strip_prefix(PREFIX).unwrap_or(&unpacked.name).to_owned();
    let strange = |what: &str| PackageError::Strange {
        package: format!("{} {}", unpacked.name, unpacked.version),
        what: what.into(),
    };
    let boot = unpacked.folder.join(format!("boot/vmlinuz-{release}"));
    if !boot.is_file() {
        return Err(strange("boot/vmlinuz-RELEASE"));
    }
    let own = cache.cache().join("kernels").join(format!("{release}_{}", unpacked.version));
    fs::create_dir_all(&own).map_err(|cause| PackageError::Cache {
        what: "make",
        path: own.clone(),
        cause,
    })?;
    // Debian 13 moved them below usr.
    let below = |folder: &str| unpacked.folder.join(folder).join(&release).join("kernel");
    let tree = ["lib/modules", "usr/lib/modules"].map(below).into_iter().find(|at| at.is_dir());
    let tree = tree.ok_or_else(|| strange("lib/modules/RELEASE/kernel"))?;
    for folder in NOT_FOR_GUESTS.split(' ') {
        // It is our own copy; what is gone was of no use.
        let _ = fs::remove_dir_all(tree.join(folder));
    }
    let modules = ModuleTree::scan(&tree, &own.join("modules"));
    let mut modules = modules.map_err(|_| strange("lib/modules/RELEASE/kernel"))?;
    for (name, file) in rebuilt::modules(cache.cache(), &release) {
        modules.put(&name, &file);
    }
    let package = format!("{} {}", unpacked.name, unpacked.version);
    // Without its wrapping, or itself where that cannot be had.
    let plain = own.join("vmlinux");
    let is_there = plain.is_file() || boot_image::unpack(&boot, &plain).is_some();
    let image = if is_there { plain } else { boot };
    Ok(Kernel { release, package, image, qemu: Vec::new(), modules })
}

/// Asks nobody.
fn held(cache: &PackageCache, wanted: &str) -> Option<Unpacked> {
    let entries = fs::read_dir(cache.cache().join("packages")).ok()?.flatten();
    let named = |entry: fs::DirEntry| {
        let folder = entry.file_name().into_string().ok()?;
        let (name, version) = folder.rsplit_once('_')?;
        let release = name.strip_prefix(PREFIX)?;
        let is_it = wanted == release || Version::new(version).fits(wanted);
        let begins = release.starts_with(|first: char| first.is_ascii_digit());
        (begins && is_it).then(|| (Version::new(release), cache.held(name)))
    };
    let mut all: Vec<_> = entries.filter_map(named).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all.pop()?.1
}

fn fetched(cache: &PackageCache, wanted: &str) -> Result<Unpacked, PackageError> {
    if wanted.ends_with("-amd64") {
        return cache.get(&format!("{PREFIX}{wanted}"));
    }
    let (offer, _) = cache.offer(NEWEST, Some(wanted), Some(&SUITES))?;
    let package = image_of(&offer.depends).ok_or_else(|| PackageError::Strange {
        package: format!("{NEWEST} {}", offer.version),
        what: "kernel that it depends on".into(),
    })?;
    cache.get_level(package, offer.version.as_str())
}

/// `linux-image-6.12.107+deb13-amd64 (= 6.12.107-1)`
fn image_of(depends: &str) -> Option<&str> {
    let names = depends.split(',').filter_map(|one| one.split_whitespace().next());
    names.into_iter().find(|name| name.starts_with(PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_of(folders: &[&str]) -> (tempfile::TempDir, PackageCache) {
        let folder = tempfile::tempdir().unwrap();
        for name in folders {
            fs::create_dir_all(folder.path().join("packages").join(name)).unwrap();
        }
        let cache = PackageCache::at(folder.path());
        (folder, cache)
    }

    #[test]
    fn the_newest_release_that_is_there_is_taken_or_the_one_wanted() {
        let (_folder, cache) = cache_of(&[
            "linux-image-6.1.0-9-amd64_6.1.27-1",
            "linux-image-6.1.0-56-amd64_6.1.192-2",
            "linux-image-amd64_6.1.192-2",
            "qemu-system-x86+set_7.2",
        ]);
        let release = |wanted| held_release(&cache, wanted);
        assert_eq!(release(None).as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(release(Some("6.1.27-1")).as_deref(), Some("6.1.0-9-amd64"));
        assert_eq!(release(Some("6.1")).as_deref(), Some("6.1.0-56-amd64"));
        assert_eq!(release(Some("6.1.0-9-amd64")).as_deref(), Some("6.1.0-9-amd64"));
        assert_eq!(release(Some("5.10.0-1-amd64")), None);
    }

    #[test]
    fn the_package_of_the_newest_kernel_is_what_the_other_depends_on() {
        let (_folder, cache) = cache_of(&[]);
        // No release has this version: nothing is fetched.
        crate::apt::tests::keep_lists(cache.cache(), &[(NEWEST, "6.99.107-1", "x")]);
        let error = fetched(&cache, "6.9").unwrap_err().to_string();
        assert!(error.contains("kernel 6.9; there are 6.99.107-1 (trixie)"), "{error}");
        let error = fetched(&cache, "6.99").unwrap_err().to_string();
        assert!(error.contains("has no kernel that it depends on"), "{error}");
        let depends = "linux-base, linux-image-6.12.107+deb13-amd64 (= 6.12.107-1)";
        assert_eq!(image_of(depends), Some("linux-image-6.12.107+deb13-amd64"));
    }

    #[test]
    fn a_package_without_a_kernel_is_told() {
        let (_folder, cache) = cache_of(&["linux-image-6.1.0-9-amd64_6.1.27-1"]);
        let error = kernel(&cache, None).unwrap_err().to_string();
        assert!(error.contains("has no boot/vmlinuz-RELEASE"), "{error}");
    }

    #[test]
    fn drivers_of_hardware_are_left_out_and_file_systems_stay() {
        let (folder, cache) = cache_of(&[]);
        let package = folder.path().join("packages/linux-image-6.1.0-9-amd64_6.1.27-1");
        let tree = package.join("usr/lib/modules/6.1.0-9-amd64/kernel");
        for module in ["fs/jfs/jfs.ko", "sound/core/snd.ko", "drivers/block/virtio_blk.ko"] {
            fs::create_dir_all(tree.join(module).parent().unwrap()).unwrap();
            fs::write(tree.join(module), "").unwrap();
        }
        fs::create_dir_all(package.join("boot")).unwrap();
        fs::write(package.join("boot/vmlinuz-6.1.0-9-amd64"), "no image").unwrap();
        let kernel = kernel(&cache, None).unwrap();
        assert!(kernel.modules.has("jfs") && kernel.modules.has("virtio_blk"));
        assert!(!kernel.modules.has("snd"));
        assert!(kernel.image.ends_with("boot/vmlinuz-6.1.0-9-amd64"), "booted as it is");
    }
}
