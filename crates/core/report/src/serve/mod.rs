mod files;
mod frame;
pub mod link;
mod live;
mod runs;

pub use files::files_page;
pub use frame::{comparison_page, message_page, token_page, with_bar};
pub use live::{LiveRow, live_page};
pub use runs::{RunLine, RunSummary, list_page};
