//! The marks of parts that a program writes, and the files that hold them.

use std::{
    fs,
    sync::{Mutex, PoisonError},
};

pub use pickfs_testkit::docs::file;

/// The pages of docs/ and the README, by their paths.
pub fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(file(&folder)).expect("a folder").flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => folders.push(path),
                false if path.ends_with(".md") => pages.push(path),
                false => {}
            }
        }
    }
    pages.sort();
    pages
}

/// Writes the parts of a page, or compares them: those for which there is a text.
pub fn put(page: &str, text_of: &mut dyn FnMut(&str) -> Option<String>) {
    // Tests run beside each other, and some write into one page.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let old = fs::read_to_string(file(page)).expect("a page");
    keep(page, &rewritten(page, &old, text_of));
}

pub fn keep(path: &str, text: &str) {
    pickfs_testkit::docs::keep(path, text, "-p pickfs-lab --test docs");
}

/// A part that begins in the middle of a line stays in it.
fn rewritten(page: &str, text: &str, text_of: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!-- begin ") {
        let (name, after) = after.split_once(" -->").expect("a mark ends");
        let end = format!("<!-- end {name} -->");
        let (old, after) = after.split_once(&end).unwrap_or_else(|| panic!("{page}: no {end}"));
        let new = match text_of(name) {
            None => old.to_owned(),
            Some(new) if old.contains('\n') && new.trim().is_empty() => "\n".into(),
            Some(new) if old.contains('\n') => format!("\n\n{}\n\n", new.trim()),
            Some(new) => new.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        out.push_str(&format!("{before}<!-- begin {name} -->{new}{end}"));
        rest = after;
    }
    out + rest
}

/// A page without what programs wrote into it.
pub fn by_hand(page: &str) -> String {
    let text = fs::read_to_string(file(page)).expect("a page");
    rewritten(page, &text, &mut |_| Some(String::new()))
}
