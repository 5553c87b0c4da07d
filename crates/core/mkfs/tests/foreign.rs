//! What checkers of other hands say of our volumes. Each test needs a program and says when it is
//! not there: `fsck.hfsplus` (Debian's hfsprogs, section non-free), `xdfscan` and `xdftool` (the
//! Python package amitools). No checker of HPFS is known to run on Linux.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use pickfs_mkfs::Kind;

/// In PATH or where system programs are; without it the test's reason to end.
fn program(name: &str, package: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        println!("SKIPPED(foreign tools): {name} not found; install {package}");
    }
    found
}

fn volume(folder: &Path, kind: Kind, size_bytes: u64) -> PathBuf {
    let path = folder.join(format!("{kind}-{size_bytes}.hdf"));
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    kind.format(&file, size_bytes).unwrap();
    path
}

fn said(program: &Path, args: &[&str], volume: &Path) -> String {
    let (before, after) = args.split_at(args.iter().take_while(|arg| arg.starts_with('-')).count());
    let output = Command::new(program).args(before).arg(volume).args(after).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{}: {text}", volume.display());
    text
}

#[test]
fn apples_checker_finds_nothing() {
    let Some(fsck) = program("fsck.hfsplus", "hfsprogs (section non-free)") else { return };
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::HfsPlus, Kind::Hfsx] {
        for size_bytes in [1 << 20, (1 << 20) + 512, (64 << 20) + 1536, (1 << 30) + 3584] {
            let text = said(&fsck, &["-f", "-n"], &volume(folder.path(), kind, size_bytes));
            assert!(text.contains("The volume pickfs appears to be OK"), "{text}");
            assert_eq!(text.contains("case-sensitive volume"), kind == Kind::Hfsx, "{text}");
        }
    }
}

#[test]
fn an_amiga_scanner_finds_nothing() {
    // It guesses a geometry from the size, so sizes are such that have one.
    let Some(scan) = program("xdfscan", "amitools from PyPI") else { return };
    let folder = tempfile::tempdir().unwrap();
    for size_bytes in [1 << 20, 60 << 20, 300 << 20] {
        let text = said(&scan, &[], &volume(folder.path(), Kind::Affs, size_bytes));
        assert!(text.contains(" ok "), "{text}");
        assert!(!text.contains("ERROR"), "{text}");
    }
}

#[test]
fn an_amiga_tool_writes_and_reads_a_file() {
    let Some(tool) = program("xdftool", "amitools from PyPI") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = volume(folder.path(), Kind::Affs, 60 << 20);
    let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
    std::fs::write(&source, vec![7_u8; 70_000]).unwrap();
    said(&tool, &["write", &source.to_string_lossy(), "file"], &path);
    said(&tool, &["read", "file", &copy.to_string_lossy()], &path);
    assert!(std::fs::read(copy).unwrap() == vec![7_u8; 70_000]);
    assert!(said(&tool, &["info"], &path).contains("122880"));
}
