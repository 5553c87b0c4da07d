//! Interfaces of the kernel that questions alone use, one a file.

pub mod file_handle;
pub mod open_lock;
pub mod quota;
