//! Each row has both ratios in the same direction, and a word.

mod html;
mod markdown;
mod rows;
mod terminal;

pub use html::beside_html;
pub use markdown::beside_markdown;
pub use terminal::beside_screen;
