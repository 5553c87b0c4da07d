//! SessionRejectReason: why a message is refused by the session layer (FIX 4.4, field 373).

/// Required tag missing.
pub(crate) const TAG_MISSING: u64 = 1;
/// Value is incorrect (out of range) for this tag.
pub(crate) const VALUE_INCORRECT: u64 = 5;
pub(crate) const FORMAT_INCORRECT: u64 = 6;
pub(crate) const TYPE_INVALID: u64 = 11;
