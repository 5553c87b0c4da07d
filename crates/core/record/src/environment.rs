//! What the machine said of itself: dotted keys to values, as the kernel reports them.
//!
//! Keys are grouped by their first word: `cpu.model`, `kernel.release`,
//! `memory.total_bytes`, `device.write_cache`, `mount.options`. A key that could
//! not be read is absent; nothing is guessed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Among the facts of a run that was reduced: what it lacks.
pub const REDUCED_KEY: &str = "file.reduced";

/// Among the facts of a run: the host that it was begun on, in digits that name nobody.
pub const MACHINE_KEY: &str = "host.machine";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Environment(pub BTreeMap<String, String>);

impl Environment {
    /// Adds a fact; an empty value is left out.
    pub fn put(&mut self, key: &str, value: impl ToString) {
        let value = value.to_string();
        if !value.trim().is_empty() {
            self.0.insert(key.into(), value.trim().into());
        }
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Every key whose value differs, with both values (`None` where absent).
    pub fn differences<'a>(&'a self, other: &'a Environment) -> Vec<Difference<'a>> {
        let keys: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        keys.into_iter()
            .map(|key| Difference { key, here: self.get(key), there: other.get(key) })
            .filter(|difference| difference.here != difference.there)
            .collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference<'a> {
    pub key: &'a str,
    pub here: Option<&'a str>,
    /// Its value in the second one.
    pub there: Option<&'a str>,
}
