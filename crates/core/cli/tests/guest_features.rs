#![cfg(all(feature = "guest", feature = "features"))]
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;

use std::{fs, path::Path};

use guest_kernel::{engines_over, kernel, output_within};
use pickfs::{command, folder, typed, without_root};
use serde_json::Value;

/// The table of `pickfs features WORDS`, asked in guests without root.
fn table(cache: &Path, words: &str, minutes: u64) -> Value {
    let (_kept, out) = folder();
    let json = out.join("t.json");
    let mut features = command(&typed(words));
    features.arg("--json").arg(&json).env("PICKFS_CACHE_DIR", cache).current_dir(&out);
    without_root(&mut features);
    let said = output_within(minutes, &mut features);
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(0), "{error}");
    assert!(engines_over(&out).is_empty());
    let left: Vec<_> = fs::read_dir(&out).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(left, ["t.json"], "image and folder are gone");
    serde_json::from_slice(&fs::read(&json).unwrap()).unwrap()
}

fn answer<'t>(table: &'t Value, row: usize, key: &str) -> &'t str {
    let keys = table["capabilities"].as_array().unwrap();
    let at = keys.iter().position(|capability| capability["key"] == key).unwrap();
    table["rows"][row]["answers"][at]["verdict"].as_str().unwrap()
}

#[test]
fn one_guest_answers_for_two_file_systems_with_its_kernel_named() {
    let Some((cache, kernel)) = kernel() else { return };
    let words = "features --engine qemu-tcg --fs ext2,tmpfs,ntfs3 --size 64MiB";
    let table = table(&cache, words, 5);
    let rows = table["rows"].as_array().unwrap();
    let labels: Vec<_> = rows.iter().map(|row| row["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["ext2", "tmpfs", "ntfs3"]);
    for row in [0, 1] {
        let presence = &rows[row]["presence"];
        assert_eq!((&presence["how"], &presence["engine"]), (&"asked".into(), &"qemu-tcg".into()));
        assert_eq!(presence["kernel"], kernel.release.as_str());
        assert_eq!(answer(&table, row, "hard-links"), "yes");
        let asked = rows[row]["answers"].as_array().unwrap();
        assert_eq!(asked.len(), table["capabilities"].as_array().unwrap().len());
    }
    assert_eq!((answer(&table, 0, "reflink"), answer(&table, 0, "flush")), ("no", "yes"));
    assert_eq!(answer(&table, 1, "flush"), "not-asked", "nothing lies under what is in memory");
    assert_eq!(rows[2]["presence"]["how"], "missing");
}

#[test]
#[ignore = "five minutes: ./test --ring heavy, or pickfs features --engine qemu"]
fn classes_of_foreign_file_systems_are_what_their_drivers_do() {
    const KNOWN: &[(&str, &str, &str)] = &[
        ("jfs", "foreign-supported", "no"),
        ("hfsplus", "foreign-supported", "yes"),
        ("fat32", "foreign-unsupported", "yes"),
        ("hfs", "foreign-unsupported", "no"),
        ("hpfs", "foreign-unsupported", "no"),
        ("f2fs", "native", "yes"),
    ];
    let Some((cache, _)) = kernel() else { return };
    let names: Vec<_> = KNOWN.iter().map(|(name, ..)| *name).collect();
    let words = format!("features --engine qemu-tcg --fs {}", names.join(","));
    let table = table(&cache, &words, 30);
    for (row, (name, class, flushes)) in KNOWN.iter().enumerate() {
        let found = &table["rows"][row]["classification"];
        assert_eq!(found["class"], *class, "{name}");
        assert_eq!(found["is_measured"], *class != "native", "{name}");
        assert_eq!(answer(&table, row, "flush"), *flushes, "{name}");
    }
}
