//! Modules for Debian's stock kernel, built against its headers: no tree of the whole source is needed, and
//! a module is done in seconds. Nothing is installed: headers and source come from unpacked packages.
//!
//! ```text
//! HEADERS/usr/src/linux-headers-6.1.0-56-amd64     configuration, symbols; one path in its Makefile is ours
//! HEADERS/usr/src/linux-headers-6.1.0-56-common    headers
//! HEADERS/usr/lib/linux-kbuild-6.1                 what make runs
//! cache/6.1.0-56-amd64/ufs-1.ko                    what was built
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ModuleError;
use crate::module::Module;
use crate::run::Shell;
use crate::workshop::{RECIPE, copy_files, remove, wait_for_turn};
use crate::{openzfs, source, tools};

/// A stock kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockKernel {
    /// As `uname -r` says it: `6.1.0-56-amd64`.
    pub release: String,
    /// The version of its package, which is that of its source: `6.1.192-2`.
    pub version: String,
    /// A tree with its headers and all that they need, which stands for `/`.
    pub headers: PathBuf,
}

/// Builds modules for one stock kernel and keeps them.
#[derive(Debug, Clone)]
pub struct StockWorkshop {
    cache: PathBuf,
    kernel: StockKernel,
}

impl StockWorkshop {
    /// A workshop over a cache folder, which need not be there yet.
    pub fn new(cache: &Path, kernel: StockKernel) -> Self {
        Self { cache: cache.to_owned(), kernel }
    }

    /// The module's file: kept from before, or built now from 140 MB of source, in half a minute.
    ///
    /// # Errors
    /// What the machine lacks ([`ModuleError::is_skip`]), or what went wrong.
    pub fn built(&self, module: Module) -> Result<PathBuf, ModuleError> {
        let place = self.place_of(module.name());
        self.once(&place, |shell| self.build(shell, module)).map(|()| place)
    }

    /// The modules of OpenZFS, of which `zfs` is the last: kept from before, or built now from the unpacked package
    /// zfs-dkms. Some twenty minutes on two processors.
    ///
    /// # Errors
    /// As [`StockWorkshop::built`].
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
        let shell = tools::shell_for_headers()?;
        self.find_headers()?;
        build(&shell)
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(&self.kernel.release)
    }

    fn place_of(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}-{RECIPE}.ko"))
    }

    /// The kernel's own headers and those that all flavours share.
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
        let folder = self.folder().join(format!("build-{}", module.name()));
        remove(&folder)?;
        copy_files(&source.join(module.folder()), &folder)?;
        module.changes().iter().try_for_each(|change| change.make(&folder))?;
        let outside = format!("M={}", folder.display());
        let mut words = vec!["-j2", "CC=gcc", &outside];
        words.extend(module.make_words());
        words.extend(module.flags());
        words.push("modules");
        shell.run(&self.header_folders().0, "make", &words)?;
        self.keep(shell, &folder.join(format!("{}.ko", module.name())), module.name())?;
        remove(&folder)
    }

    /// Folders of the source that a module of ours is built from.
    fn source(&self, shell: &Shell) -> Result<PathBuf, ModuleError> {
        let (tree, work) = (self.folder().join("source"), self.folder().join("download"));
        let whole = tree.join(".whole");
        if whole.is_file() {
            return Ok(tree);
        }
        for folder in [&tree, &work] {
            remove(folder)?;
            fs::create_dir_all(folder).map_err(ModuleError::io("make", folder))?;
        }
        let package = self.source_package();
        let folders = Module::ALL.map(Module::folder);
        let found = (package.as_str(), self.kernel.version.as_str());
        source::unpack_folders(shell, found, &folders, &work, &tree)?;
        remove(&work)?;
        fs::write(&whole, "").map_err(ModuleError::io("write", &whole))?;
        Ok(tree)
    }

    /// `linux-source-6.1` of `6.1.192-2`.
    fn source_package(&self) -> String {
        let series: Vec<&str> = self.kernel.version.split(['.', '-']).take(2).collect();
        format!("linux-source-{}", series.join("."))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn workshop(cache: &Path) -> StockWorkshop {
        let kernel = StockKernel {
            release: "6.1.0-56-amd64".into(),
            version: "6.1.192-2".into(),
            headers: cache.join("headers"),
        };
        StockWorkshop::new(cache, kernel)
    }

    #[test]
    fn what_was_built_is_taken_from_the_cache() {
        let cache = tempfile::tempdir().unwrap();
        let workshop = workshop(cache.path());
        fs::create_dir_all(workshop.folder()).unwrap();
        fs::write(workshop.place_of("ufs"), "module").unwrap();
        let place = cache.path().join("6.1.0-56-amd64/ufs-1.ko");
        assert_eq!(workshop.built(Module::UfsWrite).unwrap(), place);
        assert_eq!(workshop.source_package(), "linux-source-6.1");
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
}
