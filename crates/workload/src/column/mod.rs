//! What a column store does to a file system: columns set, appended to, replaced in place, synced, mapped,
//! read at random, sorted and re-attributed, in files as kdb+ has them. No query language and no database
//! runs here; the calls are those of one.
//!
//! ```
//! use pickfs_workload::column::{Attribute, ElementType, Header, Layout, Tally, get, set};
//! let folder = tempfile::tempdir()?;
//! let (path, layout) = (folder.path().join("price"), Layout::Elements(ElementType::Long));
//! let header = layout.header(Header { attribute: Attribute::None, count: 2 });
//! set(&path, &header, &[7; 16], 1 << 20, &mut Tally::default())?;
//! assert_eq!(get(&path, layout)?.elements.count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What each row of the tables does is in `docs/column-workload.md`.

mod append;
mod get;
mod layout;
mod list;
mod lock;
mod random;
mod ranks;
mod replace;
mod set;
mod shuffle;
mod sizes;
mod symbols;
mod sync;
mod table;
mod watch;

pub use append::{Handle, open_append};
pub use get::{Mapped, Touch, get, read1};
pub use layout::{Attribute, ElementType, Header, Layout, LayoutError};
pub use list::{List, ListKind, Profile, Windows};
pub use lock::enter;
pub use random::{Blocks, OpenFiles, Place, ReadBy};
pub use ranks::{Ranks, SymbolError};
pub use replace::replace;
pub use set::{Setting, set};
pub use sizes::Sizes;
pub use symbols::{Domain, Draw, SymbolLayout};
pub use sync::{SyncBy, command_text, sync};
pub use table::{Rewritten, Table};
pub use watch::{Tally, Watch};
