//! A run beside a published table: terminal, Markdown and HTML.
//!
//! Each row has both ratios in the same direction, and a word. The header says which file
//! system's rate is divided by which.

mod html;
mod markdown;
mod rows;
mod terminal;

pub use html::beside_html;
pub use markdown::beside_markdown;
pub use terminal::beside_screen;
