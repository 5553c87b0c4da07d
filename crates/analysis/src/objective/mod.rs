//! Objectives: what somebody wants of a file system, and which candidates of a run serve it best.
//!
//! An [`Objective`] is a name (`journal tail`, `ingest`, `all-round`) or a formula over numbers of
//! trials; a [`Need`] is a condition that no speed makes up for. [`choose`] compares every pair of
//! candidates within blocks and says who is best, who is tied, who was ruled out by what, and what
//! would change the answer. A candidate is behind only where that is told from chance.
//!
//! ```
//! use std::collections::BTreeMap;
//! use pickfs_analysis::{articles::Source, objective::{Facts, choose, objective}};
//! use pickfs_testkit::{FakeRun, fake_run};
//! let run = fake_run(&FakeRun { blocks: 9, ..FakeRun::default() });
//! let findings = pickfs_analysis::findings(&run);
//! let facts = Facts { origins: &BTreeMap::new(), features: None };
//! let wanted = objective("durable.p50").expect("a formula");
//! let choice = choose(&wanted, &[], &[Source { run: &run, findings: &findings }], &facts);
//! assert_eq!(choice.verdicts[0].best, ["xfs:noatime"]);
//! ```

mod choice;
mod duel;
mod feature_answers;
mod field;
pub mod formula;
pub mod need;
pub mod number;
mod profile;
mod sentences;

pub use choice::{Choice, ChoiceVerdict, Facts, RuledOut, choose};
pub use duel::Duel;
pub use feature_answers::{FeatureAnswers, Given, NotFeatures};
pub use formula::{Formula, FormulaError};
pub use need::{Need, NeedError};
pub use profile::{Objective, ObjectiveError, Part, names, objective, objectives};
