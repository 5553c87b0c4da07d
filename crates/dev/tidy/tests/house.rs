#![allow(clippy::unwrap_used)]

use pickfs_tidy::{
    budget, conflicts, floors, length, licence, naming, opening, printing, rows, sleeping, tree,
    unsafety, words,
};
use std::{fs, process::Command};

fn apply(wanted: impl Fn(&str) -> bool, rule: impl Fn(&str, &str) -> Vec<String>) -> Vec<String> {
    let root = tree::root();
    let files = tree::files(&root).unwrap();
    let readable = files.iter().filter(|path| wanted(path)).filter_map(|path| {
        let text = fs::read_to_string(root.join(path)).ok()?;
        Some((path, text))
    });
    readable
        .flat_map(|(path, text)| {
            rule(path, &text).into_iter().map(move |breach| format!("{path}: {breach}"))
        })
        .collect()
}

fn assert_none(breaches: &[String]) {
    assert!(breaches.is_empty(), "\n  {}\n", breaches.join("\n  "));
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

#[test]
fn no_merge_is_left_undecided() {
    assert_none(&apply(|_| true, |_, text| conflicts::breaches(text)));
}

#[test]
fn files_are_short() {
    assert_none(&apply(is_rust, |_, text| length::breach(text).into_iter().collect()));
}

#[test]
fn no_crate_grows() {
    let root = tree::root();
    let text = |path: &String| fs::read_to_string(root.join(path)).unwrap();
    let files = tree::files(&root).unwrap();
    let rust = files.iter().filter(|path| is_rust(path)).map(|path| (path.as_str(), text(path)));
    assert_none(&budget::breaches(rust));
}

#[test]
fn unsafe_stands_only_where_it_may() {
    assert_none(&apply(is_rust, unsafety::breaches));
}

#[test]
fn no_test_waits_for_a_time() {
    let is_it = |path: &str| is_rust(path) && !path.contains("/guest_");
    assert_none(&apply(is_it, sleeping::breaches));
}

#[test]
fn the_product_prints_in_one_place() {
    assert_none(&apply(is_rust, printing::breaches));
}

#[test]
fn a_file_system_is_named_in_its_row_alone() {
    let root = tree::root();
    let is_row = |path: &&String| path.starts_with(rows::FOLDER);
    let files = tree::files(&root).unwrap();
    let texts =
        files.iter().filter(is_row).map(|path| fs::read_to_string(root.join(path)).unwrap());
    let names = rows::names(texts);
    assert!(names.len() > 30, "{names:?}");
    assert_none(&apply(is_rust, |path, text| rows::breaches(&names, path, text)));
}

#[test]
fn a_main_is_short() {
    assert_none(&apply(is_rust, |path, text| opening::breach(path, text).into_iter().collect()));
}

#[test]
fn a_crate_uses_those_before_it_and_the_core_no_extra() {
    let is_manifest = |path: &str| path.starts_with("crates/") && path.ends_with("/Cargo.toml");
    assert_none(&apply(is_manifest, |_, text| floors::breaches(&text.parse().unwrap())));
}

#[test]
fn no_file_holds_a_forbidden_word() {
    assert_none(&apply(|_| true, |_, text| words::breaches(text)));
}

#[test]
fn files_are_named_after_their_noun() {
    assert_none(&apply(|_| true, |path, _| naming::breach(path).into_iter().collect()));
}

/// Needs what a build has fetched already, and no network.
#[test]
fn every_dependency_has_an_allowed_licence() {
    let words = ["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform"];
    let output = Command::new(env!("CARGO"))
        .current_dir(tree::root())
        .args(words)
        .arg(format!("{}-unknown-linux-gnu", std::env::consts::ARCH))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_none(&licence::breaches(&serde_json::from_slice(&output.stdout).unwrap()));
}
