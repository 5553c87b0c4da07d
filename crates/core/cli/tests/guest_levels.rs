#![cfg(feature = "guest")]
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::{fs, path::Path};

use guest_kernel::{engines_over, kernel, output_within};
use pickfs::{Said, command, folder, only_run, record};
use pickfs_record::Outcome;

fn run_in(cache: &Path, out: &Path, words: &[&str]) -> Said {
    let mut command = command(&["run", "--fs", "tmpfs", "--blocks", "1", "--size", "64MiB"]);
    command.args(words).arg("--out").arg(out).env("PICKFS_CACHE_DIR", cache).current_dir(out);
    output_within(10, &mut command).into()
}

fn holds_nothing(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().count() == 0
}

#[test]
fn a_kernel_that_no_suite_has_is_refused_with_those_that_there_are() {
    let (_kept, out) = folder();
    let cache = out.join("cache");
    let runs = out.join("runs");
    let lists = cache.join("suites/lists");
    fs::create_dir_all(&lists).unwrap();
    fs::create_dir_all(&runs).unwrap();
    let offer = "Package: linux-image-amd64\nVersion: 6.1.176-1\nArchitecture: amd64\nSize: 7\n";
    let of_bookworm = "deb.debian.org_debian_dists_bookworm_main_binary-amd64_Packages";
    fs::write(lists.join(of_bookworm), offer).unwrap();
    fs::write(cache.join("suites/whole"), "").unwrap();
    let said = run_in(&cache, &runs, &["files-tiny", "--set", "guest.kernel=1.2"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("kernel 1.2; there are 6.1.176-1 (bookworm)"), "{said:?}");
    assert!(holds_nothing(&runs));
    let said = run_in(&cache, &runs, &["files-tiny", "--engine", "uml"]);
    assert!(said.err.contains("user-mode Linux was retired; use --engine qemu"), "{said:?}");
    let said = run_in(&cache, &runs, &["files-tiny", "--set", "guest.kernel=newest"]);
    assert!(said.err.contains("guest.kernel = newest: a series as 6.1"), "{said:?}");
}

#[test]
fn nothing_is_fetched_against_the_users_word() {
    let ((_kept, out), (_cached, cache)) = (folder(), folder());
    let mut command = command(&["run", "files-tiny", "--engine", "qemu-tcg", "--fs", "tmpfs"]);
    command.arg("--out").arg(&out);
    command.env("PICKFS_CACHE_DIR", &cache).env("PICKFS_FETCH", "never");
    let said = Said::from(output_within(3, &mut command));
    assert_eq!(said.code, Some(1), "{said:?}");
    let is_refused = said.err.contains("PICKFS_FETCH=yes") || said.err.contains("not in");
    assert!(is_refused && holds_nothing(&out), "{said:?}");
    let packages = cache.join("packages");
    assert!(!packages.exists() || holds_nothing(&packages), "{said:?}");
}

#[test]
fn a_level_is_the_kernel_that_ran_and_several_lanes_run_in_it() {
    let Some((cache, kernel)) = kernel() else { return };
    let (_kept, out) = folder();
    let level = format!("guest.kernel={}", kernel.release);
    let words = format!("files-tiny --engine qemu-tcg --set {level} --set lanes=2 --set files=32");
    let said = run_in(&cache, &out, &pickfs::typed(&words));
    assert_eq!(said.code, Some(0), "{said:?}");
    let record = record(&only_run(&out));
    let trial = &record.trials[0];
    assert_eq!(trial.outcome, Outcome::Finished);
    assert_eq!(trial.environment.get("guest.kernel"), Some(kernel.release.as_str()));
    assert_eq!(record.cells[0].knobs["guest.kernel"], kernel.release);
    assert_eq!(record.cells[0].knobs["guest.engine"], "qemu-tcg");
    assert!(trial.ops.iter().any(|op| op.op.starts_with("seq create")), "{:?}", trial.ops.len());
    assert!(engines_over(&out).is_empty());
}
