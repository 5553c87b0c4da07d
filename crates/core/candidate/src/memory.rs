//! How much memory may be taken: at most half of what is available, so that
//! neither the machine nor the page cache under test is starved.
//! Source: proc_meminfo(5), "MemAvailable".

use pickfs_sys::vm_state::Memory;

use crate::availability::Unavailable;
use crate::error::TargetError;

pub(crate) fn check(what: &'static str, asked_bytes: u64) -> Result<(), TargetError> {
    match Memory::now().map_or(0, |memory| memory.available_bytes) {
        0 => Ok(()),
        available_bytes => check_against(what, asked_bytes, available_bytes),
    }
}

fn check_against(
    what: &'static str,
    asked_bytes: u64,
    available_bytes: u64,
) -> Result<(), TargetError> {
    if asked_bytes <= available_bytes / 2 {
        return Ok(());
    }
    let reason = format!(
        "{what} of {asked_bytes} bytes is more than half of the {available_bytes} bytes of memory that are available"
    );
    Err(Unavailable::new(reason, "ask for less").into())
}

/// Bytes, or with `k`, `m`, `g`; `%` of all memory is `None` here.
pub(crate) fn tmpfs_size_bytes(text: &str) -> Option<u64> {
    let shift = match text.chars().last()?.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_shl(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_is_refused_with_the_numbers() {
        assert!(check_against("a RAM image", 50, 100).is_ok());
        let text = check_against("a RAM image", 51, 100).unwrap_err().to_string();
        assert_eq!(
            text,
            "a RAM image of 51 bytes is more than half of the 100 bytes of memory that are \
             available; ask for less"
        );
    }

    #[test]
    fn sizes_are_read_as_tmpfs_reads_them() {
        assert_eq!(tmpfs_size_bytes("512M"), Some(512 << 20));
        assert_eq!(tmpfs_size_bytes("4096"), Some(4096));
        assert_eq!(tmpfs_size_bytes("50%"), None);
    }
}
