use std::{fs, os::unix::process::CommandExt};

use crate::pickfs::{
    NOBODY, command, folder, is_root, nobody_reaches_us, pickfs, typed, unprivileged,
};
use serde_json::Value;

#[test]
fn a_directory_is_asked_without_root_and_stays_as_it_was() {
    let (_data, data) = folder();
    fs::write(data.join("theirs"), b"keep me").unwrap();
    let (_kept, out) = folder();
    let file = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let (json, html, markdown) = (file("t.json"), file("t.html"), file("t.md"));
    let directory = data.to_str().unwrap();
    let words =
        format!("features --dir {directory} --json {json} --html {html} --markdown {markdown}");
    let said = unprivileged(&typed(&words));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("hard links"), "{}", said.out);
    let names: Vec<_> = fs::read_dir(&data).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["theirs"]);
    assert_eq!(fs::read(data.join("theirs")).unwrap(), b"keep me");
    let table: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let (asked, answers) = (&table["capabilities"], &table["rows"][0]["answers"]);
    assert_eq!(asked.as_array().unwrap().len(), answers.as_array().unwrap().len());
    assert_eq!(table["format"], 1);
    assert!(fs::read_to_string(&html).unwrap().starts_with("<!doctype html>"));
    assert!(fs::read_to_string(&markdown).unwrap().contains("| hard links |"));
}

#[test]
fn a_directory_must_be_there() {
    let said = pickfs(&["features", "--dir", "/no/such/folder"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("/no/such/folder"), "{}", said.err);
}

/// No QEMU, no network, nothing kept.
#[test]
fn without_root_and_without_a_guest_nobody_is_asked_and_the_way_out_is_told() {
    let (_kept, empty) = folder();
    let mut features = command(&["features", "--fs", "ext4,xfs"]);
    features.env("PATH", &empty).env("PICKFS_CACHE_DIR", &empty).current_dir(&empty);
    if is_root() && nobody_reaches_us() {
        features.uid(NOBODY).gid(NOBODY);
    } else if is_root() {
        println!("SKIPPED: nobody may not execute pickfs here");
        return;
    }
    let said = features.output().expect("pickfs starts");
    let error = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(1), "{error}");
    assert!(error.contains("run with sudo, or ask a --dir"), "{error}");
}
