//! A call that did not succeed within a probe, and what that says: either the
//! file system does not do what was asked, or the question could not be put.

use std::io;

use pickfs_record::features::{Answer, Verdict};
use rustix::io::Errno;

use crate::errno;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {}", errno::name(*.errno))]
pub struct Refusal {
    /// As it is named in its manual page: `link`.
    pub operation: &'static str,
    pub errno: Errno,
    /// It was the question itself; otherwise it was only needed to put it.
    pub is_the_question: bool,
}

impl Refusal {
    pub fn answer(&self, is_root: bool) -> Answer {
        let means_no = self.is_the_question && errno::means_no(self.errno, is_root);
        let needs_root = self.is_the_question && self.errno == Errno::PERM && !is_root;
        match (needs_root, means_no) {
            (true, _) => Answer::new(Verdict::NotAsked, format!("{self}; only root may ask")),
            (_, true) => Answer::new(Verdict::No, self.to_string()),
            (_, false) => Answer::new(Verdict::Failed, self.to_string()),
        }
    }
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
