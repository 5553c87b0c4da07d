use std::fmt::Display;
use std::io;

/// What the system refused, in words: what was asked, why not, and what would help.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    text: String,
    errno: Option<i32>,
}

impl Refused {
    pub(crate) fn new(text: String, errno: Option<i32>) -> Self {
        Self { text, errno }
    }

    pub fn is(&self, errno: rustix::io::Errno) -> bool {
        self.errno == Some(errno.raw_os_error())
    }
}

/// `cannot open /dev/sda: Permission denied; needs root`.
pub(crate) fn cannot<E: Into<io::Error>>(
    what: impl Display,
    needs: &str,
) -> impl FnOnce(E) -> Refused {
    move |cause| {
        let cause = cause.into();
        let text = format!("cannot {what}: {cause}{}", remedy(&cause, needs));
        Refused::new(text, cause.raw_os_error())
    }
}

/// `"; needs <needs>"` when `cause` is for lack of privilege (`EPERM`, `EACCES`), else nothing.
pub(crate) fn remedy(cause: &io::Error, needs: &str) -> String {
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!("; needs {needs}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn only_lack_of_privilege_names_one() {
        let refused = cannot("open it", "root")(Errno::PERM);
        assert!(refused.to_string().ends_with("; needs root") && refused.is(Errno::PERM));
        let broken = cannot("open it", "root")(Errno::IO).to_string();
        assert!(broken.starts_with("cannot open it: ") && !broken.contains("root"), "{broken}");
    }
}
