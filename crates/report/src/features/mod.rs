//! The table of what file systems can do: for a terminal, for a pull request,
//! and as a page. Each begins with the classes and shows first where the
//! candidates differ; what they share is said in one line.

mod html;
mod markdown;
mod terminal;
mod view;

pub use html::features_html;
pub use markdown::features_markdown;
pub use terminal::{Detail, features_screen};
