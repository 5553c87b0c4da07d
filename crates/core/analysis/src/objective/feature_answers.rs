use std::collections::BTreeMap;

use pickfs_record::typed::program;
use serde::Deserialize;
use thiserror::Error;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeatureAnswers {
    rows: Vec<FeaturesOf>,
}

#[derive(Debug, Clone, PartialEq)]
struct FeaturesOf {
    label: String,
    fs: String,
    answers: BTreeMap<String, Given>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Given {
    /// `yes`, `partly`, `no`, `measured` or `failed`.
    pub verdict: String,
    #[serde(default)]
    pub words: String,
}

#[derive(Debug, Error)]
#[error("not a table of features ({reason}); write one with {} features --json FILE", program())]
pub struct NotFeatures {
    pub reason: serde_json::Error,
}

#[derive(Deserialize)]
struct Table {
    capabilities: Vec<Key>,
    rows: Vec<TableRow>,
}

#[derive(Deserialize)]
struct Key {
    key: String,
}

#[derive(Deserialize)]
struct TableRow {
    label: String,
    fs: String,
    answers: Vec<Given>,
}

impl FeatureAnswers {
    /// Reads the JSON of a table; candidates that could not be asked are left out.
    pub fn read(json: &str) -> Result<Self, NotFeatures> {
        let table: Table = serde_json::from_str(json).map_err(|reason| NotFeatures { reason })?;
        let keys: Vec<String> = table.capabilities.into_iter().map(|key| key.key).collect();
        let asked = table.rows.into_iter().filter(|row| !row.answers.is_empty());
        let rows = asked.map(|row| FeaturesOf {
            label: row.label,
            fs: row.fs,
            answers: keys.iter().cloned().zip(row.answers).collect(),
        });
        Ok(FeatureAnswers { rows: rows.collect() })
    }

    /// What a candidate answered: under its own label, else what its file system did.
    pub fn of(&self, label: &str, fs: &str, key: &str) -> Option<&Given> {
        let own = self.rows.iter().find(|row| row.label == label);
        let row = own.or_else(|| self.rows.iter().find(|row| row.fs == fs))?;
        row.answers.get(key)
    }

    pub fn file_systems(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.fs.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_that_could_not_be_asked_are_not_there() {
        let json = r#"{ "format": 1, "capabilities": [{ "key": "hard-links", "label": "x" }],
            "rows": [
                { "label": "fat32", "fs": "fat32", "answers": [{ "verdict": "no", "words": "link: EPERM" }] },
                { "label": "zfs", "fs": "zfs", "answers": [] }
            ] }"#;
        let answers = FeatureAnswers::read(json).expect("a table");
        assert_eq!(answers.file_systems().collect::<Vec<_>>(), ["fat32"]);
        assert_eq!(answers.of("fat32", "fat32", "hard-links").expect("asked").words, "link: EPERM");
        assert!(answers.of("zfs", "zfs", "hard-links").is_none());
        assert!(answers.of("fat32", "fat32", "reflink").is_none());
    }

    #[test]
    fn another_text_says_how_to_make_one() {
        let error = FeatureAnswers::read("{}").expect_err("no table").to_string();
        assert!(error.contains("pickfs features --json FILE"), "{error}");
    }
}
