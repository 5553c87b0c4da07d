//! Pages between runs, for a server that shows a folder of them.
//!
//! The list of runs, two runs or two cells side by side, a run that is going on, the
//! files of a run. A run's own page is [`crate::html`]. Nothing here reads a request
//! or a file: input is data, output is a page that loads nothing but itself.

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
