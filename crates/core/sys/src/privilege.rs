//! What to add to an error when the kernel refused for lack of privilege.

use std::io;

/// `"; needs <needs>"` when `cause` is a refusal (`EPERM`, `EACCES`), else nothing.
pub(crate) fn remedy(cause: &io::Error, needs: &str) -> String {
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!("; needs {needs}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::remedy;
    use std::io::Error;

    #[test]
    fn only_a_refusal_names_the_privilege() {
        let refused = Error::from_raw_os_error(libc::EPERM);
        assert_eq!(remedy(&refused, "root"), "; needs root");
        assert_eq!(remedy(&Error::from_raw_os_error(libc::EIO), "root"), "");
    }
}
