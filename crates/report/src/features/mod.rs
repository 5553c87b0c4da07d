mod html;
mod markdown;
mod terminal;
mod view;

pub use html::features_html;
pub use markdown::features_markdown;
pub use terminal::{Detail, features_screen};
