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
        let arguments = c_strings(arguments.map(OsString::into_vec))?;
        let joined = environment.map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name.into_vec()
        });
        let environment = c_strings(joined)?;
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

fn c_strings(strings: impl Iterator<Item = Vec<u8>>) -> io::Result<Vec<CString>> {
    strings.map(|bytes| CString::new(bytes).map_err(io::Error::from)).collect()
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
