#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, fs};

use pickfs_tidy::{
    links::{headings, is_ours, resolved, targets},
    tree,
};

fn pages() -> Vec<(String, String)> {
    let root = tree::root();
    let files = tree::files(&root).unwrap();
    let pages = files.into_iter().filter(|path| path.ends_with(".md"));
    pages.map(|path| (path.clone(), fs::read_to_string(root.join(&path)).unwrap())).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let pages = pages();
    let root = tree::root();
    let mut broken = Vec::new();
    for (path, text) in &pages {
        for (line, target) in targets(text).into_iter().filter(|(_, target)| is_ours(target)) {
            let Some((file, heading)) = resolved(path, &target) else {
                broken.push(format!("{path}:{line}: {target} leaves the repository"));
                continue;
            };
            if !root.join(&file).exists() {
                broken.push(format!("{path}:{line}: {target}: no {file}"));
            }
            let page = pages.iter().find(|(known, _)| *known == file);
            let known = page.map(|(_, text)| headings(text));
            if heading.zip(known).is_some_and(|(heading, known)| !known.contains(&heading)) {
                broken.push(format!("{path}:{line}: {target}: {file} has no such heading"));
            }
        }
    }
    assert!(broken.is_empty(), "\n  {}\n", broken.join("\n  "));
}

#[test]
fn the_index_leads_to_every_page() {
    let pages = pages();
    let mut found = BTreeSet::from(["docs/README.md".to_owned()]);
    let mut open = vec!["docs/README.md".to_owned()];
    while let Some(from) = open.pop() {
        let Some((_, text)) = pages.iter().find(|(path, _)| *path == from) else { continue };
        let led = targets(text).into_iter().filter_map(|(_, target)| resolved(&from, &target));
        open.extend(led.map(|(path, _)| path).filter(|path| found.insert(path.clone())));
    }
    let there = pages.iter().map(|(path, _)| path).filter(|path| path.starts_with("docs/"));
    let missing: Vec<_> = there.filter(|path| !found.contains(*path)).collect();
    assert!(missing.is_empty(), "docs/README.md leads nowhere to {missing:?}");
}

#[test]
fn the_front_page_and_both_helps_name_the_same_seven_commands() {
    let root = tree::root();
    let [readme, run, help] = ["README.md", "run", "crates/core/cli/src/examples.rs"]
        .map(|path| fs::read_to_string(root.join(path)).unwrap());
    let table = readme.split("<!-- begin choices -->").nth(1).unwrap();
    let commands = table.split("<!-- end choices -->").next().unwrap().split("./run ").skip(1);
    let words: Vec<_> = commands.map(|command| command.split([' ', '`']).next().unwrap()).collect();
    assert_eq!(words.len(), 7, "{words:?}");
    for word in words {
        assert!(run.contains(&format!("\n./run {word} ")), "./run --help has no {word}");
        assert!(help.contains(&format!("\n  pickfs {word} ")), "pickfs --help has no {word}");
    }
}

#[test]
fn our_own_words_are_few() {
    let (_, page) = pages().into_iter().find(|(path, _)| path == "ARCHITECTURE.md").unwrap();
    let words = page.split("\n## ").find(|section| section.starts_with("Words\n")).unwrap();
    assert!(words.matches("\n| ").count() <= 31, "at most thirty words, and the head");
}
