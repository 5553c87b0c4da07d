//! MPI without linking: a dozen functions of whatever library the launcher's environment points to, one binary under
//! Open MPI, MPICH and its kin, and the standard ABI of MPI 5.
//!
//! Five constants differ between them. A handle is an int (MPICH) or a pointer (the two others); both travel
//! in one register or slot of the two 64-bit machines that this is for, so it is a `usize` here.
//! Sources: `mpi.h` of Open MPI 4.1 (`ompi_mpi_comm_world`, `ompi_mpi_byte`), of MPICH 4.0 (`MPI_COMM_WORLD`,
//! `MPI_BYTE`, `MPI_STATUS_IGNORE`), and of the MPI 5 standard, appendix A (`MPI_THREAD_FUNNELED` is 1024 there, else 1);
//! `MPI_ANY_SOURCE` is -2 in MPICH, else -1.
#![allow(unsafe_code)]

use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    ptr::null_mut,
};

use libc::{RTLD_GLOBAL, RTLD_NOW, dlerror, dlopen, dlsym};

use crate::{
    error::RanksError,
    mpi::{Mpi, Transfer},
};

type Handle = usize;

/// Names a library instead of those that the launcher's environment points to.
const NAMED: &str = "PICKFS_MPI";
/// By what launchers put into the environment of a rank.
const BY_LAUNCHER: [(&str, &[&str]); 4] = [
    ("OMPI_COMM_WORLD_RANK", &["libmpi.so.40"]),
    ("PMI_RANK", &["libmpi_abi.so.1", "libmpich.so.12", "libmpi.so.12"]),
    ("PMI_FD", &["libmpi_abi.so.1", "libmpich.so.12", "libmpi.so.12"]),
    ("PMIX_RANK", &["libmpi.so.40", "libmpi_abi.so.1", "libmpich.so.12"]),
];
/// The largest `MPI_MAX_LIBRARY_VERSION_STRING` of the three.
const VERSION_BYTES: usize = 8192;
const TAG: c_int = 7;
const TAG_OF_ANY: c_int = 8;
const ABORT_CODE: c_int = 75;

type Start =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;

struct Functions {
    send: Start,
    receive: Start,
    test: unsafe extern "C" fn(*mut Handle, *mut c_int, Handle) -> c_int,
    abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    finish: unsafe extern "C" fn() -> c_int,
}

struct Constants {
    world: Handle,
    byte: Handle,
    no_status: Handle,
    /// One thread alone calls MPI while others are there.
    funneled: c_int,
    any_source: c_int,
}

pub(crate) struct Library {
    functions: Functions,
    constants: Constants,
    rank: usize,
    size: usize,
    name: String,
}

/// An open library, which is never closed.
struct Opened {
    at: *mut c_void,
    name: String,
}

impl Opened {
    fn find() -> Result<Opened, RanksError> {
        let named = env::var(NAMED).ok();
        let launched = BY_LAUNCHER.iter().find(|(variable, _)| env::var_os(variable).is_some());
        let names: Vec<String> = match (named, launched) {
            (Some(name), _) => vec![name],
            (None, Some((_, names))) => names.iter().map(|name| (*name).to_owned()).collect(),
            (None, None) => {
                let tried = "it set none of the variables that MPI's launchers set".into();
                return Err(RanksError::NoLibrary { tried });
            }
        };
        let mut tried = Vec::new();
        for name in names {
            match Opened::open(&name) {
                Ok(at) => return Ok(Opened { at, name }),
                Err(why) => tried.push(why),
            }
        }
        Err(RanksError::NoLibrary { tried: tried.join(", ") })
    }

    /// Why not, in the loader's words, which name it.
    fn open(name: &str) -> Result<*mut c_void, String> {
        let text = CString::new(name).map_err(|error| format!("{name:?}: {error}"))?;
        // SAFETY: the text ends in a zero. Constructors of the library run, as the launcher's user wants. What went wrong is a
        // text of this thread until the next call.
        let (at, why) = unsafe {
            let at = dlopen(text.as_ptr(), RTLD_NOW | RTLD_GLOBAL);
            let why = if at.is_null() { dlerror() } else { null_mut() };
            (at, (!why.is_null()).then(|| CStr::from_ptr(why).to_string_lossy().into_owned()))
        };
        match at.is_null() {
            true => Err(why.unwrap_or_else(|| format!("{name} not opened"))),
            false => Ok(at),
        }
    }

    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: an open library, and a text that ends in a zero.
        let found = unsafe { dlsym(self.at, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    fn must(&self, name: &'static CStr) -> Result<*mut c_void, RanksError> {
        self.symbol(name).ok_or_else(|| RanksError::NoSymbol {
            name: name.to_str().unwrap_or_default(),
            library: self.name.clone(),
        })
    }

    /// # Safety
    /// `F` is the type of the function of this name.
    unsafe fn function<F: Copy>(&self, name: &'static CStr) -> Result<F, RanksError> {
        let found = self.must(name)?;
        // SAFETY: a function has a pointer as large as this one; its type is the caller's word.
        Ok(unsafe { std::mem::transmute_copy(&found) })
    }

    fn constants(&self) -> Result<Constants, RanksError> {
        // A library of the standard ABI may stand on one of another.
        let file = self.name.rsplit('/').next().unwrap_or_default();
        let ([world, byte, no_status], funneled, any_source) =
            match self.symbol(c"ompi_mpi_comm_world") {
                _ if file.contains("mpi_abi") => ([0x101, 0x247, 0], 1024, -1),
                Some(world) => ([world as usize, self.must(c"ompi_mpi_byte")? as usize, 0], 1, -1),
                None => ([0x4400_0000, 0x4c00_010d, 1], 1, -2),
            };
        Ok(Constants { world, byte, no_status, funneled, any_source })
    }
}

fn checked(call: &'static str, code: c_int) -> Result<(), RanksError> {
    if code == 0 { Ok(()) } else { Err(RanksError::Call { call, code }) }
}

impl Library {
    /// Joins the other ranks; blocks until all of them have.
    pub(crate) fn join() -> Result<Library, RanksError> {
        let opened = Opened::find()?;
        let constants = opened.constants()?;
        type Version = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
        type Number = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
        type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
        // SAFETY: these are the types of the functions of these names in every `mpi.h`; see above for handles.
        let (functions, init, version, rank, size) = unsafe {
            let functions = Functions {
                send: opened.function(c"MPI_Isend")?,
                receive: opened.function(c"MPI_Irecv")?,
                test: opened.function(c"MPI_Test")?,
                abort: opened.function(c"MPI_Abort")?,
                finish: opened.function(c"MPI_Finalize")?,
            };
            let init: Init = opened.function(c"MPI_Init_thread")?;
            let version: Version = opened.function(c"MPI_Get_library_version")?;
            let (rank, size): (Number, Number) =
                (opened.function(c"MPI_Comm_rank")?, opened.function(c"MPI_Comm_size")?);
            (functions, init, version, rank, size)
        };
        let number = |call, of: Number| {
            let mut number = 0;
            // SAFETY: the world's handle, and a number of ours to write.
            checked(call, unsafe { of(constants.world, &mut number) }).map(|()| number as usize)
        };
        let mut given = 0;
        // SAFETY: the first two may be null, the last is a number of ours; called once, by the first thread. A library that
        // gives less lets only that thread call it too.
        let code = unsafe { init(null_mut(), null_mut(), constants.funneled, &mut given) };
        checked("MPI_Init_thread", code)?;
        let mut text = vec![0 as c_char; VERSION_BYTES];
        let mut length = 0;
        // SAFETY: a place of the size that the standard wants, and a number of ours.
        checked("MPI_Get_library_version", unsafe { version(text.as_mut_ptr(), &mut length) })?;
        let bytes: Vec<u8> = text.iter().map(|byte| *byte as u8).take_while(|b| *b != 0).collect();
        let (rank, size) = (number("MPI_Comm_rank", rank)?, number("MPI_Comm_size", size)?);
        let name = short(&String::from_utf8_lossy(&bytes));
        Ok(Library { functions, constants, rank, size, name })
    }

    fn start(
        &self,
        (call, with): (&'static str, Start),
        (other, tag): (c_int, c_int),
        mut bytes: Box<[u8]>,
    ) -> Result<Box<dyn Transfer + '_>, RanksError> {
        let (mut request, length) = (0, bytes.len() as c_int);
        let Constants { world, byte, .. } = self.constants;
        let at = bytes.as_mut_ptr().cast();
        // SAFETY: the bytes stay where they are until MPI_Test says that it is over: `Moving` keeps them, and gives
        // them away to nobody when it is dropped before.
        let code = unsafe { with(at, length, byte, other, tag, world, &mut request) };
        checked(call, code)?;
        Ok(Box::new(Moving { library: self, request, bytes: Some(bytes) }))
    }
}

/// `Open MPI v4.1.4`, `MPICH Version: 4.0.2`: all of them say more.
fn short(version: &str) -> String {
    let first = version.split([',', '\n']).next().unwrap_or_default();
    first.split_whitespace().take(4).collect::<Vec<_>>().join(" ")
}

struct Moving<'a> {
    library: &'a Library,
    request: Handle,
    bytes: Option<Box<[u8]>>,
}

impl Transfer for Moving<'_> {
    fn poll(&mut self) -> Result<Option<Vec<u8>>, RanksError> {
        if self.bytes.is_none() {
            return Ok(None);
        }
        let mut done = 0;
        let (test, no_status) = (self.library.functions.test, self.library.constants.no_status);
        // SAFETY: our request, which MPI writes, and a number of ours.
        checked("MPI_Test", unsafe { test(&mut self.request, &mut done, no_status) })?;
        Ok(if done == 0 { None } else { self.bytes.take().map(Vec::from) })
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        // MPI may still write there.
        std::mem::forget(self.bytes.take());
    }
}

impl Mpi for Library {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn send(&self, to: usize, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError> {
        self.start(("MPI_Isend", self.functions.send), (to as c_int, TAG), bytes.into())
    }

    fn receive(&self, from: usize, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError> {
        let bytes = vec![0; bytes].into();
        self.start(("MPI_Irecv", self.functions.receive), (from as c_int, TAG), bytes)
    }

    fn tell_first(&self, bytes: Vec<u8>) -> Result<Box<dyn Transfer + '_>, RanksError> {
        self.start(("MPI_Isend", self.functions.send), (0, TAG_OF_ANY), bytes.into())
    }

    fn hear_any(&self, bytes: usize) -> Result<Box<dyn Transfer + '_>, RanksError> {
        let from = (self.constants.any_source, TAG_OF_ANY);
        self.start(("MPI_Irecv", self.functions.receive), from, vec![0; bytes].into())
    }

    fn abort(&self) {
        // SAFETY: a handle and a number.
        unsafe { (self.functions.abort)(self.constants.world, ABORT_CODE) };
    }

    fn finish(&self) {
        // SAFETY: nothing is under way, and nothing of MPI is called behind it.
        unsafe { (self.functions.finish)() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_its_name_and_its_number() {
        assert_eq!(
            short("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"),
            "Open MPI v4.1.4"
        );
        assert_eq!(short("MPICH Version:\t4.0.2\nMPICH Release date:"), "MPICH Version: 4.0.2");
    }

    #[test]
    fn without_a_launcher_it_is_said_which_library_could_be_named() {
        let error = Opened::find().err().expect("no launcher starts tests").to_string();
        assert!(error.contains("PICKFS_MPI"), "{error}");
    }

    #[test]
    fn what_the_loader_says_of_a_library_that_cannot_be_opened_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libmpi.so.40");
        std::fs::write(&path, "no library").unwrap();
        let error = Opened::open(path.to_str().unwrap()).unwrap_err();
        assert!(error.contains("libmpi.so.40: ") && error.len() > 30, "{error}");
        assert!(Opened::open("libnone\0.so").unwrap_err().starts_with("\"libnone"));
    }
}
