//! Native or foreign, supported or not: the one rule, from where a design was
//! made and from what its driver was seen to do.
//! The article of 2011 called a foreign file system supported when its *design*
//! has what Unix programs need, even where the Linux driver lacks some of it.
//! We ask the driver, because a program meets the driver. Where nothing could
//! be asked the design decides, and the classification says so.

use crate::answers::{Answer, Capability, Classification, Verdict};
use pickfs_record::origin::{Class, Home, Origin};

/// All must be seen, at least in part.
pub const NEEDED: [&str; 7] = [
    "permissions",
    "owners",
    "hard-links",
    "symbolic-links",
    "special-files",
    "rename-over-open",
    "unlink-open",
];

pub fn classify(origin: &Origin, asked: &[(Capability, Answer)]) -> Classification {
    let (class, because, is_measured) = match origin.home {
        Home::Linux => (Class::Native, "designed within the Linux community".to_owned(), false),
        Home::Elsewhere => foreign(origin, asked),
    };
    let article = origin.article_class;
    let differs = article.is_some_and(|article| article != class);
    let differs_because = if differs { difference(class, is_measured) } else { "" };
    let differs_because = differs_because.to_owned();
    Classification { class, because, is_measured, article, differs_because }
}

fn foreign(origin: &Origin, asked: &[(Capability, Answer)]) -> (Class, String, bool) {
    let needed = asked.iter().filter(|(capability, _)| NEEDED.contains(&capability.key));
    let is_asked = |answer: &Answer| answer.verdict != Verdict::NotAsked;
    let answered: Vec<_> = needed.filter(|(_, answer)| is_asked(answer)).collect();
    let is_seen = |answer: &Answer| !matches!(answer.verdict, Verdict::No | Verdict::Failed);
    let lacking = answered.iter().filter(|(_, answer)| !is_seen(answer));
    let lacking: Vec<_> = lacking.map(|(capability, _)| capability.label).collect();
    match (lacking.is_empty(), answered.len() == NEEDED.len(), origin.is_unix_by_design) {
        (false, ..) => {
            let because = format!("lacks here: {}", lacking.join(", "));
            (Class::ForeignUnsupported, because, true)
        }
        (true, true, _) => {
            (Class::ForeignSupported, "the driver does all that Unix programs need".into(), true)
        }
        (true, false, true) => {
            let because = "its design has what Unix programs need; not measured here";
            (Class::ForeignSupported, because.into(), false)
        }
        (true, false, false) => {
            let because = "its design lacks what Unix programs need; not measured here";
            (Class::ForeignUnsupported, because.into(), false)
        }
    }
}

fn difference(class: Class, is_measured: bool) -> &'static str {
    match (class, is_measured) {
        (Class::ForeignUnsupported, true) => {
            "the article went by the design; this is what the driver does as it is mounted here"
        }
        (Class::ForeignSupported, true) => "the driver does more than the article gave it",
        _ => "the sources on its origin say otherwise than the article",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(home: Home, is_unix_by_design: bool, article_class: Option<Class>) -> Origin {
        let jfs = pickfs_candidate::fs::find("jfs").expect("a row");
        Origin { home, is_unix_by_design, article_class, ..jfs.facts().expect("it has an origin") }
    }

    fn asked(lacking: &[&str]) -> Vec<(Capability, Answer)> {
        let capabilities = crate::table::capabilities().into_iter();
        let answer = |capability: Capability| {
            let no = lacking.contains(&capability.key);
            (capability, Answer::new(if no { Verdict::No } else { Verdict::Yes }, ""))
        };
        capabilities.map(answer).collect()
    }

    #[test]
    fn what_was_made_for_linux_is_native_whatever_it_lacks() {
        let origin = origin(Home::Linux, true, Some(Class::Native));
        let found = classify(&origin, &asked(&["hard-links"]));
        assert_eq!(found.class, Class::Native);
        assert_eq!(found.differs_because, "");
    }

    #[test]
    fn a_foreign_driver_is_judged_by_what_it_does() {
        let origin = origin(Home::Elsewhere, true, Some(Class::ForeignSupported));
        assert_eq!(classify(&origin, &asked(&[])).class, Class::ForeignSupported);
        let found = classify(&origin, &asked(&["owners", "permissions", "reflink"]));
        assert_eq!(found.class, Class::ForeignUnsupported);
        assert_eq!(found.because, "lacks here: permissions stick, owners stick");
        assert!(found.differs_because.starts_with("the article went by the design"));
    }

    #[test]
    fn a_failed_call_is_lacking_and_an_unasked_question_is_not() {
        let origin = origin(Home::Elsewhere, true, None);
        let mut answers = asked(&[]);
        let at = answers.iter().position(|(one, _)| one.key == "owners").unwrap();
        answers[at].1.verdict = Verdict::Failed;
        assert_eq!(classify(&origin, &answers).because, "lacks here: owners stick");
        answers[at].1.verdict = Verdict::NotAsked;
        let found = classify(&origin, &answers);
        assert_eq!((found.class, found.is_measured), (Class::ForeignSupported, false));
    }

    #[test]
    fn without_answers_the_design_decides_and_says_so() {
        let fat = origin(Home::Elsewhere, false, Some(Class::ForeignUnsupported));
        let found = classify(&fat, &[]);
        assert_eq!((found.class, found.is_measured), (Class::ForeignUnsupported, false));
        let jfs = origin(Home::Elsewhere, true, None);
        assert_eq!(classify(&jfs, &[]).class, Class::ForeignSupported);
    }

    #[test]
    fn by_design_alone_every_class_is_the_articles() {
        let mut compared = 0;
        for row in pickfs_candidate::fs::FILE_SYSTEMS {
            let Some(origin) = row.facts() else { continue };
            let Some(article) = origin.article_class else { continue };
            assert_eq!(classify(&origin, &[]).class, article, "{}", row.name);
            compared += 1;
        }
        assert_eq!(compared, 19, "eighteen names, one of them in two formats");
    }

    #[test]
    fn every_needed_capability_is_in_the_table() {
        let all = crate::table::capabilities();
        for key in NEEDED {
            assert!(all.iter().any(|capability| capability.key == key), "{key}");
        }
    }
}
