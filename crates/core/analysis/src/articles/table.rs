use std::sync::LazyLock;

use thiserror::Error;

use super::Article;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("article `{name}` not known; use one of {}", ids().join(", "))]
pub struct UnknownArticle {
    pub name: String,
}

const TEXTS: [&str; 5] = [
    include_str!("data/000.toml"),
    include_str!("data/001.toml"),
    include_str!("data/002.toml"),
    include_str!("data/003.toml"),
    include_str!("data/004.toml"),
];

static ARTICLES: LazyLock<Vec<Article>> = LazyLock::new(|| {
    let read = |text: &&str| -> Article {
        let article = toml::from_str(text).expect("the data of this crate is read by its tests");
        with_table(article)
    };
    TEXTS.iter().map(read).collect()
});

fn with_table(mut article: Article) -> Article {
    for claim in &mut article.claims {
        claim.table.clone_from(&article.table);
        claim.full.clone_from(&article.full);
    }
    article
}

pub fn articles() -> &'static [Article] {
    &ARTICLES
}

pub fn find(name: &str) -> Result<&'static Article, UnknownArticle> {
    let found = ARTICLES.iter().find(|article| article.id == name);
    found.ok_or_else(|| UnknownArticle { name: name.into() })
}

fn ids() -> Vec<&'static str> {
    articles().iter().map(|article| article.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        articles::{Measure, Relation},
        published,
    };

    #[test]
    fn every_data_file_is_read_and_says_where() {
        for text in TEXTS {
            if let Err(error) = toml::from_str::<Article>(text) {
                panic!("{error}");
            }
        }
        let count: usize = articles().iter().map(|article| article.claims.len()).sum();
        assert!(count >= 120, "{count} claims");
        assert!(
            find("999")
                .expect_err("there is none")
                .to_string()
                .ends_with("000, 001, 002, 003, 004")
        );
    }

    #[test]
    fn tables_of_articles_are_published_ones() {
        for article in articles().iter().filter(|article| !article.table.is_empty()) {
            assert!(published::find(&article.table).is_ok(), "{}", article.id);
            assert!(article.claims.iter().all(|claim| claim.table == article.table));
        }
    }

    #[test]
    fn ids_are_unique_and_begin_with_their_article() {
        let mut seen = BTreeSet::new();
        for article in articles() {
            for claim in &article.claims {
                assert!(seen.insert(&claim.id), "{} stands twice", claim.id);
                assert!(claim.id.starts_with(&format!("{}-", article.id)), "{}", claim.id);
                assert!(claim.says.ends_with('.') && claim.says.len() > 20, "{}", claim.id);
            }
            let is_claim = |id: &String| article.claims.iter().any(|claim| claim.id == *id);
            assert!(!article.main.is_empty(), "{}: its main claims", article.id);
            assert!(article.main.iter().all(is_claim), "{}: {:?}", article.id, article.main);
            let once: BTreeSet<_> = article.main.iter().collect();
            assert_eq!(once.len(), article.main.len(), "{}", article.id);
        }
    }

    #[test]
    fn each_claim_has_what_its_relation_needs() {
        use Relation::{Advised, Dominates, Mixed, No, Yes};
        for claim in articles().iter().flat_map(|article| &article.claims) {
            let id = &claim.id;
            let compares = claim.relation.compares();
            assert_eq!(compares, !claim.object.is_empty(), "{id}: object");
            let beside = matches!(
                claim.measure,
                Measure::Feature(_) | Measure::Fact { .. } | Measure::Advice
            );
            assert_eq!(beside, claim.workload.is_empty(), "{id}: workload");
            assert_eq!(beside, claim.plan.is_empty(), "{id}: plan");
            assert_eq!(claim.needs.is_empty(), claim.because.is_empty(), "{id}: why it needs that");
            let is_unkept = matches!(claim.measure, Measure::Unkept(_));
            assert!(!is_unkept || !claim.takes.is_empty(), "{id}: what an answer takes");
            let ranks = |measure: &Measure| match measure {
                Measure::Number(metric) => metric.statistic.is_ranked(),
                _ => true,
            };
            assert!(ranks(&claim.measure), "{id}: a maximum decides nothing");
            assert_eq!(claim.measure == Measure::Advice, claim.relation == Advised, "{id}: advice");
            let is_feature = matches!(claim.measure, Measure::Feature(_) | Measure::Fact { .. });
            assert_eq!(is_feature, matches!(claim.relation, Yes | No), "{id}: feature");
            let several = matches!(claim.measure, Measure::Phases(_));
            assert_eq!(several, matches!(claim.relation, Dominates(_) | Mixed), "{id}: rows");
            assert!(claim.measure == Measure::Advice || !claim.subject.is_empty(), "{id}: subject");
        }
    }
}
