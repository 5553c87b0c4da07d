//! Objectives: what somebody wants of a file system, and which candidates of a run serve it best.

mod feature_answers;
pub mod number;

pub use feature_answers::{FeatureAnswers, Given, NotFeatures};
