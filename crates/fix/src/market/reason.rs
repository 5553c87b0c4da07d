//! SessionRejectReason: why a message is refused by the session layer (FIX 4.4, field 373).

/// SessionRejectReason: required tag missing.
pub(crate) const TAG_MISSING: u64 = 1;
/// SessionRejectReason: value is incorrect (out of range) for this tag.
pub(crate) const VALUE_INCORRECT: u64 = 5;
/// SessionRejectReason: incorrect data format for value.
pub(crate) const FORMAT_INCORRECT: u64 = 6;
/// SessionRejectReason: invalid MsgType.
pub(crate) const TYPE_INVALID: u64 = 11;
