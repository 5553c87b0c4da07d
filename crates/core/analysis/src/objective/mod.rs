//! An [`Objective`] is a name (`journal tail`, `ingest`, `all-round`) or a formula over numbers of
//! trials; a [`Need`] is a condition that no speed makes up for. [`choose`] compares every pair of
//! candidates within blocks and says who is best, who is tied, who was ruled out by what, and what
//! would change the answer. A candidate is behind only where that is told from chance.

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
