use std::{fs, path::Path};

/// A path from the top, or one of a crate, with its `src` or without.
fn is_there(root: &Path, path: &str) -> bool {
    let (name, rest) = path.split_once('/').unwrap();
    let from_src = format!("{name}/src/{rest}");
    let mut places = ["", "crates/core", "crates/engines", "crates/extras", "crates/dev"].iter();
    places.any(|place| [path, &from_src].iter().any(|path| root.join(place).join(path).exists()))
}

#[test]
fn what_the_architecture_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    for path in page.split('`').skip(1).step_by(2).filter(|span| span.ends_with(".rs")) {
        assert!(is_there(&root, path), "{path} is not there");
    }
}

#[test]
fn what_the_page_of_rules_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let page = fs::read_to_string(root.join("docs/validity.md")).unwrap();
    let spans: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let (mut tests, mut modules) = (0, 0);
    for span in spans {
        if let Some((file, name)) = span.split_once("::") {
            let Ok(text) = fs::read_to_string(root.join(file)) else {
                assert_eq!(file, "file", "{file} is not there");
                continue;
            };
            assert!(text.contains(&format!("fn {name}(")), "{file} has no {name}");
            tests += 1;
        } else if span.contains('/') {
            assert!(is_there(&root, span), "{span} is not there");
            modules += 1;
        }
    }
    assert!(tests > 60 && modules > 40, "{tests} tests, {modules} modules");
    let rules = page.lines().filter(|line| {
        line.strip_prefix("| ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    assert_eq!(rules.count(), 19);
}
