//! The kernel's source: from Debian by apt, unpacked without what no module of ours needs.

use std::fs;
use std::path::Path;

use crate::error::ModuleError;
use crate::kernel::UmlKernel;
use crate::run::{Shell, tail};

/// Parts of the source that stay in the archive: they are large, and of them only Kconfig files matter.
fn left_out(package: &str) -> Vec<String> {
    let anywhere = ["*/drivers/*.[chS]", "*/sound/*.[chS]", "*.dts", "*.dtsi"].map(str::to_owned);
    let at_top = ["net/*.[ch]", "arch/[!ux]*/*.[chS]", "Documentation/*/*", "tools/testing"];
    let at_top = at_top.map(|pattern| format!("{package}/{pattern}"));
    let all = anywhere.into_iter().chain(at_top);
    all.map(|pattern| format!("--exclude={pattern}")).collect()
}

/// Downloads a package, with its version where that matters; gives back the file's name.
pub(crate) fn download(folder: &Path, package: &str) -> Result<String, ModuleError> {
    let failed = |output: String| ModuleError::NoDownload { package: package.into(), output };
    let before = packages(folder)?;
    match Shell::default().run(folder, "apt-get", &["-q", "download", package]) {
        Err(ModuleError::Failed { output, .. }) => return Err(failed(tail(&output))),
        other => other?,
    };
    let name = package.split('=').next().unwrap_or(package).to_owned() + "_";
    let new = |file: &String| file.starts_with(&name) || !before.contains(file);
    packages(folder)?.into_iter().find(new).ok_or_else(|| failed("no file came of it".into()))
}

fn packages(folder: &Path) -> Result<Vec<String>, ModuleError> {
    let entries = fs::read_dir(folder).map_err(ModuleError::io("list", folder))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| name.ends_with(".deb")).collect())
}

/// Puts the kernel's source into a folder that is empty.
pub(crate) fn unpack(
    shell: &Shell,
    kernel: &UmlKernel,
    work: &Path,
    tree: &Path,
) -> Result<(), ModuleError> {
    let package = kernel.source_package();
    let offered = shell.run(work, "apt-cache", &["madison", &package])?;
    let version = version_of(&offered, &kernel.release).ok_or_else(|| ModuleError::NoSource {
        package: package.clone(),
        release: kernel.release.clone(),
    })?;
    let file = download(work, &format!("{package}={version}"))?;
    shell.run(work, "dpkg", &["-x", &file, "."])?;
    let archive = work.join(format!("usr/src/{package}.tar.xz"));
    let (archive, tree) = (archive.to_string_lossy(), tree.to_string_lossy());
    let mut words = vec!["-x", "-f", &archive, "-C", &tree, "--strip-components=1"];
    let left_out = left_out(&package);
    words.extend(left_out.iter().map(String::as_str));
    shell.run(work, "tar", &words).map(drop)
}

/// Puts some folders of the source of a package's very version into a folder: `linux-source-6.1=6.1.192-2`.
pub(crate) fn unpack_folders(
    shell: &Shell,
    (package, version): (&str, &str),
    folders: &[&str],
    work: &Path,
    tree: &Path,
) -> Result<(), ModuleError> {
    let file = download(work, &format!("{package}={version}"))?;
    shell.run(work, "dpkg", &["-x", &file, "."])?;
    let archive = work.join(format!("usr/src/{package}.tar.xz"));
    let (archive, tree) = (archive.to_string_lossy(), tree.to_string_lossy());
    let mut words = vec!["-x", "-f", &archive, "-C", &tree, "--strip-components=1"];
    let folders: Vec<String> = folders.iter().map(|folder| format!("{package}/{folder}")).collect();
    words.extend(folders.iter().map(String::as_str));
    shell.run(work, "tar", &words).map(drop)
}

/// The version that apt offers for this kernel: the kernel's own, then Debian's after a dash.
fn version_of(offered: &str, release: &str) -> Option<String> {
    let versions = offered.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim);
    let mut fitting = versions.filter(|version| {
        version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    fitting.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_kernel_and_no_other() {
        let offered = "linux-source-6.1 |  6.1.192-2 | http://security main amd64 Packages\n\
                       linux-source-6.1 |  6.1.176-1 | http://deb main amd64 Packages\n";
        assert_eq!(version_of(offered, "6.1.176").as_deref(), Some("6.1.176-1"));
        assert_eq!(version_of(offered, "6.1.17"), None);
        assert_eq!(version_of("", "6.1.176"), None);
    }
}
