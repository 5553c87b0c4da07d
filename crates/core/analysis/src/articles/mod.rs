//! Each observation and recommendation is a [`Claim`]: our words, and a predicate over measured
//! rows. [`answers`] puts them to runs. Only findings count: comparisons, rows of phases, means
//! of tables with their intervals, under five blocks nothing is decided. A claim over several
//! pairs of rows is seen only where each pair bears it out; one that goes the other way makes it
//! the opposite. It is not a verdict: most of these comparisons no plan has fixed, so one in
//! twenty of those may be chance, and each says whether it was planned.

mod answer;
mod ask;
mod beside;
mod claim;
mod condition;
mod judge;
mod measure;
mod pairs;
mod placed;
mod ratio;
mod relation;
mod several;
mod table;
mod value;

pub use answer::{Answer, Evidence, Outcome, RunAnswer};
pub use ask::{Known, answers, of_run};
pub use beside::FEATURES;
pub use claim::{Article, Claim, Kind, Selector};
pub use condition::{Condition, ConditionError};
pub use measure::{Measure, MeasureError, Rows};
pub use placed::Source;
pub use relation::{Relation, RelationError};
pub use table::{UnknownArticle, articles, find};
