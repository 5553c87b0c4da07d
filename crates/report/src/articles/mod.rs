mod html;
mod markdown;
mod terminal;
mod words;

pub use html::section;
pub use markdown::claims_markdown;
pub use terminal::claims_screen;

pub(crate) use markdown::of_run;
