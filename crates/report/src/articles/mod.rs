//! What the articles said and what this machine says, in every form: a screen, a page of the book
//! in Markdown, and a section of a run's own page.
//!
//! ```text
//! pickfs claims RUN [RUN ...] [--article 002] [--markdown FILE] [--json]
//! ```

mod html;
mod markdown;
mod terminal;
mod words;

pub use html::section;
pub use markdown::claims_markdown;
pub use terminal::claims_screen;

pub(crate) use markdown::of_run;
