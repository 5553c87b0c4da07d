//! Interfaces of the kernel that explanations alone use, one a file.

pub mod file_calls;
pub mod kernel_symbols;
pub mod perf_event;
pub mod perf_record;
pub mod perf_ring;
pub mod sched_stat;
pub mod trace_format;
pub mod trace_fs;
