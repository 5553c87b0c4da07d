//! What stands by hand on pages of questions says nothing that a run would have to say.

use std::fs;

use pickfs_lab::plans::PLANS;

use crate::parts::{by_hand, file, pages};

/// Plans that ask nothing that a reader would: of a try-out, of the machine itself, of sources that must be fetched.
const WITHOUT_A_PAGE: &[&str] = &["column-tiny", "files-tiny", "cargo-build", "trust"];

/// Words of a verdict: of each, a run says it.
const VERDICTS: [&str; 5] = ["agrees", "contradicts", "claimed", "opposite here", "came true"];
/// Beside a figure a single word is a verdict, too, and so is a phrase.
const COMPARES: [&str; 10] = [
    "faster", "slower", "ahead", "behind", "shorter", "longer", "lower", "higher", "better",
    "worse",
];
const PHRASES: [&str; 2] = ["times as ", "surely "];

fn is_question(page: &str) -> bool {
    page.starts_with("docs/questions/") || ["README.md", "docs/README.md"].contains(&page)
}

/// What an article showed is told with its own figures: such a paragraph begins with these words.
fn is_of_article(paragraph: &str) -> bool {
    paragraph.starts_with("**The article")
}

/// Sentences of running text, without code and headings.
fn sentences(page: &str) -> Vec<String> {
    let text = by_hand(page);
    let without_code = text.split("```").step_by(2).collect::<String>();
    let mut found = Vec::new();
    let mut is_told = false;
    for one in without_code.split("\n\n").map(str::trim) {
        // A table belongs to the paragraph before it; the front page's say what programs can do.
        is_told = match one.starts_with('|') {
            true => is_told || page == "README.md",
            false => is_of_article(one) || one.starts_with('#') || one.starts_with("    "),
        };
        if !is_told {
            found.extend(one.split(". ").map(|sentence| sentence.replace('\n', " ")));
        }
    }
    found
}

fn breach(sentence: &str) -> bool {
    let low: String = sentence.to_lowercase().split('`').step_by(2).collect();
    let words = || low.split(|c: char| !c.is_alphanumeric() && c != '.');
    // Of a ratio, 1 is the middle.
    let is_figure = |word: &str| word != "1" && word.starts_with(|c: char| c.is_ascii_digit());
    VERDICTS.iter().any(|word| low.contains(word))
        || words().any(is_figure)
            && (words().any(|word| COMPARES.contains(&word))
                || PHRASES.iter().any(|part| low.contains(part)))
}

#[test]
fn no_verdict_stands_by_hand() {
    for page in pages().iter().filter(|page| is_question(page)) {
        let found: Vec<_> = sentences(page).into_iter().filter(|one| breach(one)).collect();
        assert!(found.is_empty(), "{page}: a run says this, or nobody:\n  {}", found.join("\n  "));
    }
    assert!(breach("**Agrees**: btrfs creates more slowly"));
    assert!(breach("xfs was 1.4 times as fast"));
    assert!(breach("It takes 20 % less and is surely faster, 20 %"));
    assert!(!breach("Whether it is faster was not asked"));
}

#[test]
fn a_question_that_a_plan_answers_has_answer_and_doubts_from_its_run() {
    for page in pages().iter().filter(|page| page.starts_with("docs/questions/")) {
        let text = fs::read_to_string(file(page)).expect("a page");
        for part in [": answer -->", ": how sure -->"] {
            let has_run =
                ["<!-- begin run ", "<!-- begin cost "].iter().any(|mark| text.contains(mark));
            assert!(!has_run || text.contains(part), "{page} has no part `{part}`");
        }
    }
}

#[test]
fn each_plan_has_a_page_with_its_answer() {
    let text: String =
        pages().iter().map(|page| fs::read_to_string(file(page)).expect("a page")).collect();
    let has_page = |name: &str| text.contains(&format!("<!-- begin run {name}: answer -->"));
    let without: Vec<&str> =
        PLANS.iter().map(|plan| plan.name).filter(|name| !has_page(name)).collect();
    assert_eq!(without, WITHOUT_A_PAGE);
}
