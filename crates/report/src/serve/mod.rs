mod cells;
mod chain;
mod comparison;
mod files;
mod frame;
pub mod link;
mod live;
mod runs;

pub use cells::{Side, cells_page, choose_cells_page};
pub use chain::chain_page;
pub use comparison::comparison_page;
pub use files::files_page;
pub use frame::{message_page, token_page, with_bar};
pub use live::{LiveRow, live_page};
pub use runs::{RunLine, RunSummary, list_page};
