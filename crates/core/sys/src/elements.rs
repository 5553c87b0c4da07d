//! 64-bit elements seen as bytes and back, without copying. Little-endian machines only.
#![allow(unsafe_code)]

pub const ELEMENT_BYTES: usize = 8;

const _: () = assert!(cfg!(target_endian = "little"), "files of elements are little-endian");

pub fn bytes_of(elements: &[u64]) -> &[u8] {
    // SAFETY: the same memory for the same time; any byte is valid, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

pub fn bytes_of_mut(elements: &mut [u64]) -> &mut [u8] {
    // SAFETY: as in `bytes_of`; the list is borrowed alone, and any eight bytes are an element.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}
