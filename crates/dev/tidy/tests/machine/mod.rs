//! A machine made of stub programs, on which `./run` and `./test` can be tried.
//!
//! Its `cargo` makes a `pickfs` that prints what it was told; its `apt-get` writes down how it was
//! called and brings nothing.
#![allow(dead_code)]

use pickfs_tidy::tree;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Programs of the real machine that the two scripts themselves use.
const REAL: [&str; 20] = [
    "bash", "sh", "env", "dirname", "awk", "sort", "tr", "sed", "head", "tail", "mktemp", "rm",
    "cat", "chmod", "mkdir", "grep", "basename", "tee", "uniq", "sleep",
];

const CARGO: &str = r#"[ "$1" = build ] || exit 0
mkdir -p "$CARGO_TARGET_DIR/release"
printf '#!/bin/sh\necho "pickfs $*"\n' >"$CARGO_TARGET_DIR/release/pickfs"
chmod +x "$CARGO_TARGET_DIR/release/pickfs""#;

/// A machine with cargo, a C compiler and root, but without apt and without file systems.
pub struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    pub fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(machine.path("bin")).unwrap();
        for name in REAL {
            let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            symlink(found.iter().find(|path| path.exists()).unwrap(), machine.bin(name)).unwrap();
        }
        let machine = machine.of("ID=debian");
        machine.with("cargo", CARGO).with("rustc", "echo rustc 1.99.0").with("cc", "").user(0)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn bin(&self, name: &str) -> PathBuf {
        self.path("bin").join(name)
    }

    pub fn with(self, name: &str, script: &str) -> Machine {
        pickfs_testkit::install(&self.bin(name), format!("#!/bin/sh\n{script}\n").as_bytes());
        self
    }

    pub fn real(self, name: &str) -> Machine {
        symlink(Path::new("/usr/bin").join(name), self.bin(name)).unwrap();
        self
    }

    pub fn without(self, name: &str) -> Machine {
        std::fs::remove_file(self.bin(name)).unwrap();
        self
    }

    pub fn user(self, id: u32) -> Machine {
        self.with("id", &format!("echo {id}"))
    }

    pub fn of(self, os_release: &str) -> Machine {
        std::fs::write(self.path("os-release"), format!("{os_release}\n")).unwrap();
        self
    }

    /// apt-get that writes its words to a file and brings nothing.
    pub fn apt(self) -> Machine {
        let log = self.path("apt.log");
        self.with("apt-get", &format!("echo \"$*\" >>{}", log.display()))
            .with("apt-cache", "echo '  Candidate: 1.99'")
    }

    pub fn apt_log(&self) -> String {
        std::fs::read_to_string(self.path("apt.log")).unwrap_or_default()
    }

    pub fn start(&self, script: &str, words: &[&str], variables: &[(&str, &str)]) -> Output {
        Command::new(tree::root().join(script))
            .args(words)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("PICKFS_OS_RELEASE", self.path("os-release"))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.start("run", words, &[])
    }
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
