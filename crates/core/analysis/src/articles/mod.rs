//! Each observation and recommendation is a [`Claim`]: our words, and a predicate over measured rows. [`answers`]
//! puts them to runs. Two rows that differ in what the claim names and in nothing else are told apart by the one
//! decision, with its gates; the claims of a plan share their part of the error ([`crate::budget`]). A claim over several pairs of rows is seen only where each pair bears
//! it out; one that goes the other way makes it the opposite.

mod answer;
mod apart;
mod ask;
mod beside;
mod claim;
mod judge;
mod measure;
mod pairs;
mod placed;
mod relation;
mod several;
mod table;
mod takes;
mod value;

pub use answer::{Answer, Evidence, Outcome, RunAnswer};
pub use ask::{Known, answers, of_run};
pub use claim::{Article, Claim};
pub use measure::{Measure, MeasureError, Rows};
pub use placed::Source;
pub use relation::{Relation, RelationError};
pub use table::{UnknownArticle, articles, find};
