//! FIX on the wire: where a message begins and ends, its fields, and how one is written.
//!
//! It knows no dictionary: what a message must hold is for the session and the business to say.

mod decimal;
mod encoder;
mod fields;
mod frame;
mod header;
pub mod tag;
mod time;

pub use decimal::Decimal;
pub use encoder::Encoder;
pub use fields::{Field, FieldError, Fields, uint};
pub use frame::{Frame, Garbled, checksum, frame};
pub(crate) use header::FIX50_SP2;
pub use header::Version;
pub use header::{Header, Kind, Message};
pub use time::{UtcTime, utc_text};
