//! Modules for Debian's stock kernel, built against its headers: no tree of the whole source is needed, and
//! a module is done in seconds. Nothing is installed: headers and source come from unpacked packages.
//!
//! ```text
//! HEADERS/usr/src/linux-headers-6.1.0-56-amd64     configuration, symbols; one path in its Makefile is ours
//! HEADERS/usr/src/linux-headers-6.1.0-56-common    headers
//! HEADERS/usr/lib/linux-kbuild-6.1                 what make runs
//! cache/6.1.0-56-amd64/ufs-1.ko                    what was built
//! ```

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::ModuleError;
use crate::module::{MODULES, Module};
use crate::openzfs;
use crate::run::{Shell, find};

/// Goes up when a module of the same kernel would be built otherwise.
const RECIPE: u32 = 1;
const NEEDED: &[(&str, &str)] =
    &[("gcc", "gcc"), ("ld", "binutils"), ("make", "make"), ("tar", "tar"), ("xz", "xz-utils")];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelSource {
    /// As `uname -r` says it: `6.1.0-56-amd64`.
    pub release: String,
    /// The version of its package, which is that of its source: `6.1.192-2`.
    pub version: String,
    /// With all that the headers need; it stands for `/`.
    pub headers: PathBuf,
    /// With the package of the source; it stands for `/`.
    pub source: PathBuf,
}

impl KernelSource {
    /// `linux-source-6.1` of `6.1.192-2`.
    pub fn source_package(&self) -> String {
        let series: Vec<&str> = self.version.split(['.', '-']).take(2).collect();
        format!("linux-source-{}", series.join("."))
    }
}

#[derive(Debug, Clone)]
pub struct Workshop {
    cache: PathBuf,
    kernel: KernelSource,
}

impl Workshop {
    /// `cache` need not be there yet.
    pub fn new(cache: &Path, kernel: KernelSource) -> Self {
        Self { cache: cache.to_owned(), kernel }
    }

    pub fn kept(&self, name: &str) -> Option<PathBuf> {
        Some(self.place_of(name)).filter(|file| file.is_file())
    }

    /// Kept from before, or built now from 140 MB of source, in half a minute.
    pub fn built(&self, module: Module) -> Result<PathBuf, ModuleError> {
        let place = self.place_of(module.name);
        self.once(&place, |shell| self.build(shell, module)).map(|()| place)
    }

    /// `zfs` is the last of its modules: kept from before, or built now from the unpacked package
    /// zfs-dkms: four minutes on two free processors.
    pub fn built_openzfs(&self, package: &Path) -> Result<PathBuf, ModuleError> {
        let place = self.place_of(openzfs::LAST);
        self.once(&place, |shell| self.build_openzfs(shell, package)).map(|()| place)
    }

    fn once(
        &self,
        place: &Path,
        build: impl FnOnce(&Shell) -> Result<(), ModuleError>,
    ) -> Result<(), ModuleError> {
        if place.is_file() {
            return Ok(());
        }
        let folder = self.folder();
        fs::create_dir_all(&folder).map_err(ModuleError::io("make", &folder))?;
        let _turn = wait_for_turn(&folder)?;
        if place.is_file() {
            return Ok(());
        }
        let shell = shell()?;
        self.find_headers()?;
        build(&shell)
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(&self.kernel.release)
    }

    fn place_of(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}-{RECIPE}.ko"))
    }

    /// The kernel's own and those that all flavours share.
    fn header_folders(&self) -> (PathBuf, PathBuf) {
        let release = &self.kernel.release;
        let shared = release.rsplit_once('-').map_or(release.as_str(), |(first, _)| first);
        let below = |name: String| self.kernel.headers.join("usr/src").join(name);
        (below(format!("linux-headers-{release}")), below(format!("linux-headers-{shared}-common")))
    }

    /// Their Makefile names the other folder by the path of an installation.
    fn find_headers(&self) -> Result<(), ModuleError> {
        let (own, shared) = self.header_folders();
        let makefile = own.join("Makefile");
        if !makefile.is_file() || !shared.join("Makefile").is_file() {
            return Err(ModuleError::NoHeaders {
                folder: self.kernel.headers.clone(),
                what: format!("usr/src/linux-headers-{}", self.kernel.release),
                release: self.kernel.release.clone(),
            });
        }
        let text = format!("include {}\n", shared.join("Makefile").display());
        fs::write(&makefile, text).map_err(ModuleError::io("write", &makefile))
    }

    fn build(&self, shell: &Shell, module: Module) -> Result<(), ModuleError> {
        let source = self.source(shell)?;
        let folder = self.folder().join(format!("build-{}", module.name));
        remove(&folder)?;
        copy_files(&source.join(module.folder), &folder)?;
        module.changes.iter().try_for_each(|change| change.make(&folder))?;
        let outside = format!("M={}", folder.display());
        let mut words = vec!["-j2", "CC=gcc", &outside];
        words.extend(module.make_words);
        words.push("modules");
        shell.run(&self.header_folders().0, "make", &words)?;
        self.keep(shell, &folder.join(format!("{}.ko", module.name)), module.name)?;
        remove(&folder)
    }

    fn source(&self, shell: &Shell) -> Result<PathBuf, ModuleError> {
        let tree = self.folder().join("source");
        let whole = tree.join(".whole");
        if whole.is_file() {
            return Ok(tree);
        }
        remove(&tree)?;
        fs::create_dir_all(&tree).map_err(ModuleError::io("make", &tree))?;
        let package = self.kernel.source_package();
        let archive = self.kernel.source.join(format!("usr/src/{package}.tar.xz"));
        let (archive, to) = (archive.to_string_lossy(), tree.to_string_lossy());
        let mut words = vec!["-x", "-f", &archive, "-C", &to, "--strip-components=1"];
        let folders = MODULES.map(|module| format!("{package}/{}", module.folder));
        words.extend(folders.iter().map(String::as_str));
        shell.run(&tree, "tar", &words)?;
        fs::write(&whole, "").map_err(ModuleError::io("write", &whole))?;
        Ok(tree)
    }

    fn build_openzfs(&self, shell: &Shell, package: &Path) -> Result<(), ModuleError> {
        let folder = self.folder().join("build-openzfs");
        remove(&folder)?;
        let modules = openzfs::build(shell, package, self.header_folders(), &folder)?;
        for (name, file) in modules {
            self.keep(shell, &file, &name)?;
        }
        remove(&folder)
    }

    fn keep(&self, shell: &Shell, built: &Path, name: &str) -> Result<(), ModuleError> {
        let folder = self.folder();
        shell.run(&folder, "strip", &["--strip-debug", &built.to_string_lossy()])?;
        let place = self.place_of(name);
        fs::rename(built, &place).map_err(ModuleError::io("keep", &place))
    }
}

fn shell() -> Result<Shell, ModuleError> {
    for &(program, package) in NEEDED {
        find(program).ok_or(ModuleError::NoProgram { program, package })?;
    }
    Ok(Shell::default())
}

/// It ends with its file.
fn wait_for_turn(folder: &Path) -> Result<File, ModuleError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(ModuleError::io("make", &path))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| ModuleError::io("lock", &path)(error.into()))?;
    Ok(file)
}

fn remove(folder: &Path) -> Result<(), ModuleError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(ModuleError::io("remove", folder)(cause))
        }
        _ => Ok(()),
    }
}

/// The folder has no folders in it.
fn copy_files(from: &Path, to: &Path) -> Result<(), ModuleError> {
    fs::create_dir_all(to).map_err(ModuleError::io("make", to))?;
    for entry in fs::read_dir(from).map_err(ModuleError::io("list", from))? {
        let path = entry.map_err(ModuleError::io("list", from))?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            fs::copy(&path, to.join(name)).map_err(ModuleError::io("copy", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::UFS_WRITE;

    fn workshop(cache: &Path) -> Workshop {
        let kernel = KernelSource {
            release: "6.1.0-56-amd64".into(),
            version: "6.1.192-2".into(),
            headers: cache.join("headers"),
            source: cache.join("source"),
        };
        Workshop::new(cache, kernel)
    }

    #[test]
    fn what_was_built_is_taken_from_the_cache() {
        let cache = tempfile::tempdir().unwrap();
        let workshop = workshop(cache.path());
        fs::create_dir_all(workshop.folder()).unwrap();
        fs::write(workshop.place_of("ufs"), "module").unwrap();
        let place = cache.path().join("6.1.0-56-amd64/ufs-1.ko");
        assert_eq!(workshop.built(UFS_WRITE).unwrap(), place);
        assert_eq!(workshop.kernel.source_package(), "linux-source-6.1");
    }

    #[test]
    fn headers_are_found_where_they_were_unpacked() {
        let cache = tempfile::tempdir().unwrap();
        let workshop = workshop(cache.path());
        let missing = workshop.find_headers().unwrap_err();
        assert!(missing.is_skip(), "{missing}");
        let (own, shared) = workshop.header_folders();
        for folder in [&own, &shared] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("Makefile"), "include /usr/src/elsewhere/Makefile\n").unwrap();
        }
        workshop.find_headers().unwrap();
        let text = fs::read_to_string(own.join("Makefile")).unwrap();
        let expected = cache.path().join("headers/usr/src/linux-headers-6.1.0-56-common/Makefile");
        assert_eq!(text, format!("include {}\n", expected.display()));
    }

    #[test]
    fn files_are_copied_without_folders() {
        let both = tempfile::tempdir().unwrap();
        let (from, to) = (both.path().join("from"), both.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        fs::write(from.join("a.c"), "text").unwrap();
        copy_files(&from, &to).unwrap();
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
        remove(&to).unwrap();
        remove(&to).unwrap();
    }
}
