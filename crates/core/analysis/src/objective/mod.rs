//! An [`Objective`] is a name (`journal tail`, `ingest`, `all-round`) or a sum of metrics with weights; a [`Need`] is
//! a condition that no speed makes up for. [`choose`] puts the value of the objective to the one decision and says
//! who is best, who was ruled out by what, and what would change the answer.

mod choice;
mod duel;
mod feature_answers;
mod field;
pub mod formula;
pub mod need;
mod profile;
mod sentences;

pub use choice::{Choice, ChoiceVerdict, Facts, RuledOut, choose};
pub use duel::Duel;
pub use feature_answers::{FeatureAnswers, Given, NotFeatures};
pub use formula::{Formula, FormulaError};
pub use need::{Need, NeedError};
pub use profile::{Objective, ObjectiveError, Part, names, objective, objectives};
