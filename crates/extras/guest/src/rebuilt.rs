//! Modules that Debian's stock kernel lacks (OpenZFS), has without writing (UFS), or with a check that refuses a good
//! volume (Reiser 3.5): built from Debian's own source of the very same version, and kept beside the packages, one folder
//! a kernel release. `build-modules.sh` says how each is made.
//!
//! ```text
//! CACHE/modules/6.1.176/ufs-1.ko
//! CACHE/modules/6.1.176/reiserfs35-1.ko
//! ```
//!
//! The number is that of the recipe; the highest counts.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use thiserror::Error;

use crate::{
    engine::Kernel,
    packages::{Beside, PackageCache, PackageError, Unpacked, cache_folder},
};

/// Goes up when a module of the same kernel would be built otherwise.
const RECIPE: u32 = 1;
const SCRIPT: &str = include_str!("build-modules.sh");
/// Of the end of an output.
const SAID_BYTES_MAX: usize = 2000;
const ZFS: &str = "zfs";
/// The type that mount(2) takes, and what a page says of results that were had with it.
const MODULES: [(&str, &str); 3] = [
    ("ufs", "UFS here means the kernel's driver built with write support"),
    ("reiserfs35", "Reiser 3.5 here means the kernel's reiserfs driver with one check corrected"),
    (ZFS, "OpenZFS of Debian's package; four minutes where two processors are free"),
];

#[derive(Debug, Error)]
pub enum BuildError {
    #[error(transparent)]
    Package(#[from] PackageError),
    #[error(
        "{package} is to be had as {found}, and the kernel is {wanted}; empty `packages` in {cache} for a newer one"
    )]
    OtherVersion { package: String, found: String, wanted: String, cache: PathBuf },
    #[error("modules not built: {said}")]
    Failed { said: String },
}

pub fn folder(cache: &Path, release: &str) -> PathBuf {
    cache.join("modules").join(release)
}

/// Those of a later recipe last.
pub fn modules(cache: &Path, release: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder(cache, release)).into_iter().flatten().flatten();
    let mut found: Vec<(u32, String, PathBuf)> = entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let (name, recipe) = file.strip_suffix(".ko")?.rsplit_once('-')?;
            Some((recipe.parse().ok()?, name.to_owned(), entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name, path)| (name, path)).collect()
}

/// In the default cache.
pub fn is_there(name: &str, release: &str) -> bool {
    let cache = cache_folder();
    cache.is_some_and(|cache| modules(&cache, release).iter().any(|(module, _)| module == name))
}

/// Builds those of the types that are not there.
pub fn build(
    cache: &PackageCache,
    kernel: &Kernel,
    is_asked: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let folder = folder(cache.cache(), &kernel.release);
    let is_kept = |name: &str| folder.join(format!("{name}-{RECIPE}.ko")).is_file();
    let missing = MODULES.into_iter().filter(|(name, _)| is_asked(name) && !is_kept(name));
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    let headers = format!("linux-headers-{}", kernel.release);
    let headers = cache.get_set(&headers, Beside::Missing)?.folder;
    let mut source: Option<Unpacked> = None;
    for (name, remark) in missing {
        let from = match name {
            ZFS => cache.get_set("zfs-dkms", Beside::Listed(&[]))?.folder,
            _ => {
                let unpacked = source.take().map_or_else(|| source_of(cache, kernel), Ok)?;
                let archive = format!("usr/src/{}.tar.xz", source_package(kernel));
                source.insert(unpacked).folder.join(archive)
            }
        };
        tell(&format!("module {name} is built in {}: {remark}", folder.display()));
        built(&kernel.release, &headers, &from, &folder, name)?;
    }
    // Large, and of no use until another module is wanted.
    source.map(|source| fs::remove_dir_all(source.folder));
    Ok(())
}

/// Debian's version of a kernel: `6.1.192-2`.
fn version_of(kernel: &Kernel) -> &str {
    kernel.package.split(' ').nth(1).unwrap_or_default()
}

/// `linux-source-6.1`.
fn source_package(kernel: &Kernel) -> String {
    let series: Vec<&str> = version_of(kernel).split(['.', '-']).take(2).collect();
    format!("linux-source-{}", series.join("."))
}

/// Of the kernel's very version: the archive may have a newer one too, whose kernel is not there yet.
fn source_of(cache: &PackageCache, kernel: &Kernel) -> Result<Unpacked, BuildError> {
    let (package, wanted) = (source_package(kernel), version_of(kernel));
    let unpacked = cache.get_set_level(&package, wanted, Beside::Listed(&[]));
    unpacked.map_err(|error| match error {
        PackageError::NoLevel { package, known, .. } => {
            let (wanted, cache) = (wanted.into(), cache.cache().to_owned());
            BuildError::OtherVersion { package, found: known, wanted, cache }
        }
        other => other.into(),
    })
}

fn built(
    release: &str,
    headers: &Path,
    source: &Path,
    folder: &Path,
    name: &str,
) -> Result<(), BuildError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", SCRIPT, "build", release]).args([headers, source, folder]);
    shell.args([&format!("-{RECIPE}.ko"), name]).stdin(Stdio::null()).env("LC_ALL", "C");
    let output = shell.output().map_err(|error| BuildError::Failed { said: error.to_string() })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let end = &said[said.len().saturating_sub(SAID_BYTES_MAX)..];
    Err(BuildError::Failed { said: String::from_utf8_lossy(end).trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_recipe_comes_last_and_other_files_are_none() {
        let cache = tempfile::tempdir().unwrap();
        let at = folder(cache.path(), "6.1.1");
        fs::create_dir_all(&at).unwrap();
        for name in ["ufs-10.ko", "ufs-9.ko", "reiserfs35-1.ko", "tree", "notes.ko"] {
            fs::write(at.join(name), "").unwrap();
        }
        let found = modules(cache.path(), "6.1.1");
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["reiserfs35", "ufs", "ufs"]);
        assert!(found[2].1.ends_with("ufs-10.ko"));
    }

    const RELEASE: &str = "6.1.0-56-amd64";

    /// Headers whose `modules` makes what it is asked for of a program, and sources with the lines that are changed.
    fn workshop(leaf: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(&format!("usr/src/linux-headers-{RELEASE}/Makefile"), "include elsewhere\n");
        let makes = "modules:\n\tcp /bin/true $(M)/$(patsubst build-%,%,$(notdir $(M))).ko\n";
        write("usr/src/linux-headers-6.1.0-56-common/Makefile", makes);
        write("tree/fs/ufs/super.c", "");
        write("tree/fs/reiserfs/stree.c", leaf);
        let super_c = "\t.name = \"reiserfs\",\nMODULE_ALIAS_FS(\"reiserfs\");\n";
        write("tree/fs/reiserfs/super.c", super_c);
        let makefile = "obj-m += reiserfs.o\nreiserfs-objs := a.o\nreiserfs-objs += b.o\n";
        write("tree/fs/reiserfs/Makefile", makefile);
        let mut tar = Command::new("tar");
        tar.args(["-cJf", "source.tar.xz", "tree"]).current_dir(folder.path());
        assert!(tar.status().unwrap().success());
        folder
    }

    fn built_in(folder: &Path, name: &str) -> Result<(), BuildError> {
        built(RELEASE, folder, &folder.join("source.tar.xz"), &folder.join("kept"), name)
    }

    #[test]
    fn modules_are_built_and_kept_where_the_source_is_as_expected() {
        let folder = workshop("if (ih_entry_count(ih) * IH_SIZE > 0)\n");
        for name in ["ufs", "reiserfs35", "ufs"] {
            built_in(folder.path(), name).unwrap();
        }
        let mut kept: Vec<_> = fs::read_dir(folder.path().join("kept")).unwrap().collect();
        kept.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        let kept = kept.into_iter().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(kept.collect::<Vec<_>>(), ["lock", "reiserfs35-1.ko", "ufs-1.ko"]);
        let other = workshop("if (ih_entry_count(ih) * DEH_SIZE > 0)\n");
        let error = built_in(other.path(), "reiserfs35").unwrap_err().to_string();
        assert!(
            error.contains("stree.c of this kernel has") && error.contains("0 times"),
            "{error}"
        );
        let error = built_in(&other.path().join("tree"), "ufs").unwrap_err().to_string();
        assert!(error.contains("has no usr/src/linux-headers-6.1.0-56-amd64"), "{error}");
    }

    #[test]
    fn openzfs_is_configured_for_the_headers_and_all_its_modules_are_kept() {
        let folder = workshop("");
        let source = folder.path().join("package/usr/src/zfs-2.1.11");
        fs::create_dir_all(&source).unwrap();
        let configure = "#!/bin/sh\nfor name in zfs/zfs spl/spl zcommon/zcommon; do\n\
             mkdir -p module/${name%/*}; cp /bin/true module/$name.ko; done\n\
             case \"$*\" in *--with-linux=*-common\\ --with-linux-obj=*-amd64*) ;; *) exit 1 ;; esac\n\
             printf 'all:\\n\\ttrue\\n' > Makefile\n";
        pickfs_testkit::install(&source.join("configure"), configure.as_bytes());
        let (package, kept) = (folder.path().join("package"), folder.path().join("kept"));
        built(RELEASE, folder.path(), &package, &kept, ZFS).unwrap();
        let is_kept = |name: &str| kept.join(format!("{name}-1.ko")).is_file();
        assert!(["spl", "zcommon", "zfs"].into_iter().all(is_kept));
    }
}
