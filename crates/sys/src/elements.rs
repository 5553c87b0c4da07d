//! 64-bit elements seen as bytes and the other way round, without copying. Little-endian only: the
//! bytes are those of the machine, and this program is not built for another order.
//!
//! ```
//! use pickfs_sys::elements::{bytes_of, bytes_of_mut};
//! let mut elements = [1u64, 256];
//! assert_eq!(bytes_of(&elements)[8..10], [0, 1]);
//! bytes_of_mut(&mut elements)[0] = 7;
//! assert_eq!(elements[0], 7);
//! ```
#![allow(unsafe_code)]

/// Bytes of one element.
pub const ELEMENT_BYTES: usize = 8;

const _: () = assert!(cfg!(target_endian = "little"), "files of elements are little-endian");

/// The bytes of a list of elements.
pub fn bytes_of(elements: &[u64]) -> &[u8] {
    // SAFETY: the same memory for the same time; any byte is valid, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of a list of elements, to be changed.
pub fn bytes_of_mut(elements: &mut [u64]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`; the list is borrowed alone, and any eight bytes are an element.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}
