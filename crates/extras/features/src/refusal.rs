//! A call that did not succeed within a probe, and what that says: either the
//! file system does not do what was asked, or the question could not be put.

use std::io;

use crate::answers::{Answer, Verdict};
use pickfs_sys::errno_name::errno_name;
use rustix::io::Errno;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {}", errno_name(.errno.raw_os_error()))]
pub struct Refusal {
    /// As it is named in its manual page: `link`.
    pub operation: &'static str,
    pub errno: Errno,
    /// It was the question itself; otherwise it was only needed to put it.
    pub is_the_question: bool,
}

impl Refusal {
    pub fn answer(&self, is_root: bool) -> Answer {
        let means_no = self.is_the_question && means_no(self.errno, is_root);
        let needs_root = self.is_the_question && self.errno == Errno::PERM && !is_root;
        match (needs_root, means_no) {
            (true, _) => Answer::new(Verdict::NotAsked, format!("{self}; only root may ask")),
            (_, true) => Answer::new(Verdict::No, self.to_string()),
            (_, false) => Answer::new(Verdict::Failed, self.to_string()),
        }
    }
}

/// A call that ends like this has told that the file system does not do it. EPERM is also how
/// link(2) and mknod(2) say so; without root it may mean us.
pub fn means_no(errno: Errno, is_root: bool) -> bool {
    let refusals =
        [Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOTTY, Errno::INVAL, Errno::NODEV, Errno::XDEV];
    refusals.contains(&errno) || (is_root && errno == Errno::PERM)
}

pub type Asking<T = Answer> = Result<T, Refusal>;

pub trait CallResult<T> {
    /// It is the question: a refusal may mean no.
    fn asked(self, operation: &'static str) -> Asking<T>;
    /// It must succeed for the question to be put.
    fn needed(self, operation: &'static str) -> Asking<T>;
}

impl<T, E: ToErrno> CallResult<T> for Result<T, E> {
    fn asked(self, operation: &'static str) -> Asking<T> {
        self.map_err(|error| Refusal { operation, errno: error.to_errno(), is_the_question: true })
    }

    fn needed(self, operation: &'static str) -> Asking<T> {
        self.map_err(|error| Refusal { operation, errno: error.to_errno(), is_the_question: false })
    }
}

/// The number in an error; EIO where there is none (a short read).
pub trait ToErrno {
    fn to_errno(&self) -> Errno;
}

impl ToErrno for Errno {
    fn to_errno(&self) -> Errno {
        *self
    }
}

impl ToErrno for io::Error {
    fn to_errno(&self) -> Errno {
        self.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(asked: bool, errno: Errno, is_root: bool) -> Answer {
        let call: Result<(), Errno> = Err(errno);
        let refusal = if asked { call.asked("link") } else { call.needed("open") };
        refusal.unwrap_err().answer(is_root)
    }

    #[test]
    fn a_refused_question_is_a_no_with_the_call_and_its_error() {
        assert_eq!(answer(true, Errno::PERM, true), Answer::new(Verdict::No, "link: EPERM"));
    }

    #[test]
    fn a_refusal_means_no_and_an_accident_does_not() {
        assert!(means_no(Errno::OPNOTSUPP, false) && means_no(Errno::PERM, true));
        assert!(!means_no(Errno::PERM, false), "without root it may mean us");
        assert!(!means_no(Errno::IO, true) && !means_no(Errno::NOSPC, true));
    }

    #[test]
    fn without_root_a_missing_right_is_no_answer() {
        let answer = answer(true, Errno::PERM, false);
        assert_eq!(answer, Answer::new(Verdict::NotAsked, "link: EPERM; only root may ask"));
    }

    #[test]
    fn what_the_question_needed_has_failed_whatever_the_error() {
        assert_eq!(answer(false, Errno::OPNOTSUPP, true).verdict, Verdict::Failed);
        assert_eq!(answer(true, Errno::IO, true).verdict, Verdict::Failed);
    }
}
