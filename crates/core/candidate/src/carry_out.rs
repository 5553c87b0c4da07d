use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pickfs_record::{Action, Step, StepRecord};
use pickfs_sys::mount::{self, MountRequest};
use rustix::io::Errno;

use crate::availability::find_program;
use crate::error::TargetError;
use crate::packages::Family;

const OUTPUT_BYTES_MAX: usize = 2000;

pub trait Calls {
    fn call(&mut self, name: &str, args: &[String]) -> Result<String, TargetError>;

    /// The words that run a program which does not lie where programs are looked for.
    fn brought(&self, _program: &str) -> Option<Vec<OsString>> {
        None
    }
}

pub struct NoCalls;

impl Calls for NoCalls {
    fn call(&mut self, name: &str, args: &[String]) -> Result<String, TargetError> {
        Err(TargetError::unknown_call(name, args))
    }
}

/// Adds its record to the log, whether it succeeded or not.
pub fn carry_out(
    step: &Step,
    calls: &mut dyn Calls,
    log: &mut Vec<StepRecord>,
) -> Result<(), TargetError> {
    let began = Instant::now();
    let answer = perform(&step.action, calls);
    let output = match &answer {
        Ok(said) => said.clone(),
        Err(error) => error.to_string(),
    };
    log.push(StepRecord {
        step: step.clone(),
        elapsed_ms: began.elapsed().as_secs_f64() * 1e3,
        output: shortened(&output),
        succeeded: answer.is_ok(),
    });
    answer.map(drop)
}

/// Stops at the first that fails.
pub fn carry_out_all(
    steps: &[Step],
    calls: &mut dyn Calls,
    log: &mut Vec<StepRecord>,
) -> Result<(), TargetError> {
    steps.iter().try_for_each(|step| carry_out(step, calls, log))
}

fn perform(action: &Action, calls: &mut dyn Calls) -> Result<String, TargetError> {
    match action {
        Action::Exec { program, args } => match calls.brought(program) {
            Some(words) => run_words(&words, program, args),
            None => run(program, args),
        },
        Action::Mount { source, fs_type, options, at } => {
            let request = MountRequest::new(source, at, fs_type).options(options.join(","));
            Ok(mount::mount(&request).map(|()| String::new())?)
        }
        Action::Unmount { at } => unmount(Path::new(at)),
        Action::Call { name, args } => calls.call(name, args),
    }
}

/// Longest wait for what a program that has ended still holds: the kernel closes the files
/// of an io_uring a moment after its last user (Linux, `io_ring_exit_work`).
const RELEASE_LIMIT: Duration = Duration::from_secs(5);
const RELEASE_POLL: Duration = Duration::from_millis(20);

/// How the output of an unmount begins that first had to end what somebody had left there.
pub const LEFT: &str = "left in the mount and ended: ";

/// A real unmount, never lazy. What would outlive it ends first: mounts inside, and a freeze.
fn unmount(at: &Path) -> Result<String, TargetError> {
    let mut left = Vec::new();
    for inside in mount::mounts_inside(at)? {
        unmount_one(&inside.mount_point)?;
        left.push(format!("{} on {}", inside.fs_type, inside.mount_point.display()));
    }
    if mount::thaw(at) {
        left.push("a freeze (fsfreeze)".into());
    }
    let said = unmount_one(at)?;
    match left.is_empty() {
        true => Ok(said),
        false => Ok(format!("{LEFT}{}", left.join(", "))),
    }
}

/// Busy is asked again for a while, and the wait is told.
fn unmount_one(at: &Path) -> Result<String, TargetError> {
    let began = Instant::now();
    loop {
        match mount::unmount(at) {
            Err(error) if error.is(Errno::BUSY) && began.elapsed() < RELEASE_LIMIT => {
                std::thread::sleep(RELEASE_POLL);
            }
            Ok(()) if began.elapsed() >= RELEASE_POLL => {
                return Ok(format!("busy for {:.0} ms", began.elapsed().as_secs_f64() * 1e3));
            }
            other => return Ok(other.map(|()| String::new())?),
        }
    }
}

pub(crate) fn run(program: &str, args: &[String]) -> Result<String, TargetError> {
    let path = find_program(program).ok_or_else(|| not_found(program))?;
    run_words(&[path.into()], program, args)
}

fn run_words(words: &[OsString], program: &str, args: &[String]) -> Result<String, TargetError> {
    let home = (program == "hformat").then(Home::new).transpose()?;
    let mut command = Command::new(&words[0]);
    if let Some(Home(folder)) = &home {
        command.env("HOME", folder);
    }
    // A group of its own: Ctrl-C is for the lab, which ends the step's trial in order.
    let output = command
        .process_group(0)
        .args(&words[1..])
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(TargetError::io("start", Path::new(program)))?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        return Ok(said);
    }
    let command = Action::Exec { program: program.into(), args: args.to_vec() };
    let (status, said) = (output.status, shortened(&said));
    Err(TargetError::Other(format!("`{command}` failed with {status}; it said: {said}")))
}

/// A home for one program, gone after it: hformat writes to that of its user, and fails where it cannot.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Home, TargetError> {
        let folder = std::env::temp_dir().join(format!("pickfs-home-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder).map_err(TargetError::io("make", &folder))?;
        Ok(Home(folder))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Nothing counts on it; what is left is named after this process.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn not_found(program: &str) -> TargetError {
    let package = crate::fs::package_of(program);
    let package = package.map(|of_debian| Family::here().name(of_debian).unwrap_or(of_debian));
    let package = package.unwrap_or("the package that holds it").into();
    TargetError::NoProgram { program: program.into(), package }
}

/// Of a long text, the beginning and the end.
fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    let half = OUTPUT_BYTES_MAX / 2;
    let boundary = |&at: &usize| text.is_char_boundary(at);
    let head = (0..=half).rev().find(boundary).unwrap_or(0);
    let tail = (text.len() - half..text.len()).find(boundary).unwrap_or(text.len());
    format!("{}\n...\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::recipe;

    #[test]
    fn a_failed_step_is_recorded_with_its_reason_and_ends_the_list() {
        let steps = [
            recipe::exec("succeed", "true", [""; 0]),
            recipe::exec("fail", "sh", ["-c", "echo broken >&2; exit 3"]),
            recipe::exec("never", "true", [""; 0]),
        ];
        let mut log = Vec::new();
        let error = carry_out_all(&steps, &mut NoCalls, &mut log).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sh -c 'echo broken >&2; exit 3'` failed with exit status: 3; it said: broken"
        );
        let succeeded: Vec<_> = log.iter().map(|record| record.succeeded).collect();
        assert_eq!(succeeded, [true, false]);
        assert_eq!(log[1].output, error.to_string());
    }

    #[test]
    fn hformat_has_a_home_that_is_gone_after_it() {
        let say = ["sh", "-c", "touch \"$HOME/.hcwd\" && stat -c '%a %n' \"$HOME\""];
        let said = run_words(&say.map(OsString::from), "hformat", &[]).unwrap();
        let (mode, folder) = said.trim().split_once(' ').unwrap();
        assert_eq!(mode, "700");
        assert!(folder.contains("pickfs-home-") && !Path::new(folder).exists(), "{folder}");
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let run = |program: &str| not_found(program).to_string();
        assert_eq!(
            run("mkfs.f2fs"),
            "mkfs.f2fs not found; install f2fs-tools or leave what needs it out"
        );
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let text = format!("begin{}end", "ä".repeat(5000));
        let short = shortened(&text);
        assert!(short.len() < 2100 && short.starts_with("begin") && short.ends_with("end"));
    }
}
