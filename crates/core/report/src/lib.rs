//! Output is text or bytes; nothing here opens a file or computes a statistic.

pub mod articles;
pub mod beside;
pub mod calls;
pub mod card;
pub mod chart;
pub mod choice;
mod choices;
pub mod comparison;
pub mod conditions;
pub mod csv;
pub mod doctor;
pub mod document;
pub mod exports;
pub mod factors;
pub mod first;
mod fleet;
pub mod hlog;
mod hosts;
pub mod html;
pub mod markdown;
pub mod notes;
mod operations;
pub mod part;
pub mod png;
mod program;
pub mod ranking;
mod run;
pub mod stalls;
pub mod subject;
pub mod svg;
pub mod terminal;
mod trust;
pub mod wording;

pub use chart::{Chart, ChartKind, Look, charts};
pub use subject::Subject;
pub use terminal::{NextStep, Screen};
