//! Arguments and environment in the form that execve(2) takes, made before a fork, because after
//! it nothing may be allocated.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStringExt;

pub(crate) struct ExecImage {
    _strings: Vec<CString>,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

impl ExecImage {
    /// Fails when a string holds a zero byte.
    pub(crate) fn new(
        arguments: impl Iterator<Item = OsString>,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> io::Result<Self> {
        let arguments = c_strings(arguments)?;
        let environment = variables(environment)?;
        Ok(Self {
            arguments: pointers(&arguments),
            environment: pointers(&environment),
            _strings: arguments.into_iter().chain(environment).collect(),
        })
    }

    /// Returns only to give the errno that says why not. A system call only.
    pub(crate) fn exec(&self, program: &CStr) -> i32 {
        // SAFETY: both arrays end with a null pointer and point to strings that `self` keeps; a
        // CString's bytes do not move when the CString does.
        unsafe {
            libc::execve(program.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr())
        };
        io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOEXEC)
    }
}

/// `NAME=VALUE`
pub(crate) fn variables(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> io::Result<Vec<CString>> {
    c_strings(environment.map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        name
    }))
}

pub(crate) fn c_strings(strings: impl Iterator<Item = OsString>) -> io::Result<Vec<CString>> {
    strings.map(|text| CString::new(text.into_vec()).map_err(io::Error::from)).collect()
}

/// They end in a null.
pub(crate) fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
