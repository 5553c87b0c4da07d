//! The build: a prepared source tree for each kernel version, and in it one module after the other.
//!
//! ```text
//! cache/tools                       flex and bison, where the machine has none
//! cache/6.1.176/tree                the prepared source; `.prepared` says that it is whole
//! cache/6.1.176/ufs-1.ko            what was built; 1 is the number of this recipe
//! ```

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::ModuleError;
use crate::kernel::UmlKernel;
use crate::module::Module;
use crate::run::Shell;
use crate::{source, tools};

/// Goes up when a module of the same kernel would be built otherwise.
pub(crate) const RECIPE: u32 = 1;
/// What the guest kernel's configuration gets besides.
const CONFIG: &str = "\nCONFIG_UFS_FS=m\nCONFIG_UFS_FS_WRITE=y\n";

/// Builds modules for one kernel and keeps them.
#[derive(Debug, Clone)]
pub struct Workshop {
    cache: PathBuf,
    kernel: UmlKernel,
}

impl Workshop {
    /// A workshop over a cache folder, which need not be there yet.
    pub fn new(cache: &Path, kernel: UmlKernel) -> Self {
        Self { cache: cache.to_owned(), kernel }
    }

    /// Where the module is, if it was built before.
    pub fn kept(&self, module: Module) -> Option<PathBuf> {
        Some(self.place_of(module)).filter(|file| file.is_file())
    }

    /// The module's file: kept from before, or built now. Building takes a download of 140 MB and about two minutes
    /// the first time for a kernel, and half a minute for each further module. Others wait
    /// meanwhile, other processes too.
    ///
    /// # Errors
    /// What the machine lacks ([`ModuleError::is_skip`]), or what went wrong.
    pub fn built(&self, module: Module) -> Result<PathBuf, ModuleError> {
        if let Some(file) = self.kept(module) {
            return Ok(file);
        }
        let folder = self.folder();
        fs::create_dir_all(&folder).map_err(ModuleError::io("make", &folder))?;
        let _turn = wait_for_turn(&folder)?;
        if let Some(file) = self.kept(module) {
            return Ok(file);
        }
        let shell = tools::shell(&self.cache)?;
        self.prepare(&shell)?;
        self.build(&shell, module)
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(&self.kernel.release)
    }

    fn tree(&self) -> PathBuf {
        self.folder().join("tree")
    }

    fn place_of(&self, module: Module) -> PathBuf {
        self.folder().join(format!("{}-{RECIPE}.ko", module.name()))
    }

    /// Source, configuration, and what make prepares for modules from outside. A tree that is not whole is begun anew.
    fn prepare(&self, shell: &Shell) -> Result<(), ModuleError> {
        let (tree, work) = (self.tree(), self.folder().join("download"));
        let whole = tree.join(".prepared");
        if whole.is_file() {
            return Ok(());
        }
        for folder in [&tree, &work] {
            remove(folder)?;
            fs::create_dir_all(folder).map_err(ModuleError::io("make", folder))?;
        }
        source::unpack(shell, &self.kernel, &work, &tree)?;
        remove(&work)?;
        self.configure(shell, &tree)?;
        make(shell, &tree, &["olddefconfig"])?;
        make(shell, &tree, &["-j2", "modules_prepare"])?;
        let found = make(shell, &tree, &["-s", "kernelrelease"])?.trim().to_owned();
        if found != self.kernel.release {
            let release = self.kernel.release.clone();
            return Err(ModuleError::OtherRelease { release, found });
        }
        fs::write(&whole, "").map_err(ModuleError::io("write", &whole))
    }

    fn configure(&self, shell: &Shell, tree: &Path) -> Result<(), ModuleError> {
        let given = self.kernel.config.to_string_lossy();
        let text = shell.run(Path::new("/"), "gzip", &["-d", "-c", &given])?;
        let file = tree.join(".config");
        fs::write(&file, text + CONFIG).map_err(ModuleError::io("write", &file))
    }

    /// Debian's user-mode Linux has no symbol versions, so the list of the kernel's symbols is not
    /// needed, and make only warns that it is not there.
    fn build(&self, shell: &Shell, module: Module) -> Result<PathBuf, ModuleError> {
        let tree = self.tree();
        let folder = self.folder().join(format!("build-{}", module.name()));
        remove(&folder)?;
        copy_files(&tree.join(module.folder()), &folder)?;
        module.changes().iter().try_for_each(|change| change.make(&folder))?;
        let outside = format!("M={}", folder.display());
        let mut words = vec!["-j2", &outside, "KBUILD_MODPOST_WARN=1"];
        words.extend(module.make_words());
        words.push("modules");
        make(shell, &tree, &words)?;
        let built = format!("{}.ko", module.name());
        shell.run(&folder, "strip", &["--strip-debug", &built])?;
        let place = self.place_of(module);
        fs::rename(folder.join(built), &place).map_err(ModuleError::io("keep", &place))?;
        remove(&folder)?;
        Ok(place)
    }
}

fn make(shell: &Shell, tree: &Path, words: &[&str]) -> Result<String, ModuleError> {
    let all: Vec<&str> = std::iter::once("ARCH=um").chain(words.iter().copied()).collect();
    shell.run(tree, "make", &all)
}

/// A lock on a folder, which ends with its file.
pub(crate) fn wait_for_turn(folder: &Path) -> Result<File, ModuleError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(ModuleError::io("make", &path))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
        .map_err(|error| ModuleError::io("lock", &path)(error.into()))?;
    Ok(file)
}

/// Removes a folder of our own, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<(), ModuleError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(ModuleError::io("remove", folder)(cause))
        }
        _ => Ok(()),
    }
}

/// The files of a module's folder; it has no folders in it.
pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<(), ModuleError> {
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

    fn workshop(cache: &Path) -> Workshop {
        let kernel = UmlKernel { release: "6.1.176".into(), config: "/nowhere/config.gz".into() };
        Workshop::new(cache, kernel)
    }

    #[test]
    fn what_was_built_is_taken_from_the_cache() {
        let cache = tempfile::tempdir().unwrap();
        let workshop = workshop(cache.path());
        assert_eq!(workshop.kept(Module::UfsWrite), None);
        fs::create_dir_all(workshop.folder()).unwrap();
        fs::write(workshop.place_of(Module::UfsWrite), "module").unwrap();
        let place = cache.path().join("6.1.176/ufs-1.ko");
        assert_eq!(workshop.built(Module::UfsWrite).unwrap(), place);
        assert_eq!(workshop.kept(Module::Reiserfs35), None);
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
