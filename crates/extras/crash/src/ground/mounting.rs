//! A candidate on a device, mounted and unmounted as often as there are states: here, or by the same code in a guest.

use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use pickfs_candidate::{
    TargetError,
    availability::find_program,
    carry_out::{NoCalls, carry_out_all},
    fs::{FileSystem, Place},
};
use pickfs_record::{CandidateSpec, Step};
use pickfs_sys::block::{BlockDevice, ExclusiveProbe};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::GroundError;
use crate::check::{Check, Found, Loss};

const FREE_LIMIT: Duration = Duration::from_secs(20);
const FREE_POLL: Duration = Duration::from_millis(1);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mounting {
    pub(super) device: PathBuf,
    pub(super) at: PathBuf,
    pub(super) mount: Vec<Step>,
    pub(super) unmount: Vec<Step>,
    /// Commands of the candidate's row; empty where it has none.
    replayer: String,
    checker: String,
    #[serde(skip)]
    is_mounted: bool,
}

impl Mounting {
    /// By steps as they are done there.
    pub(super) fn of(
        row: &FileSystem,
        spec: &CandidateSpec,
        place: &Place,
        there: impl Fn(Step) -> Step,
    ) -> Self {
        let steps = |steps: Vec<Step>| steps.into_iter().map(&there).collect();
        let on_device = |command: &str| command.replace("SOURCE", &place.device);
        Self {
            device: (&place.device).into(),
            at: (&place.at).into(),
            mount: steps(row.mount(spec, place)),
            unmount: steps(row.unmount(spec, place)),
            replayer: on_device(row.replayer),
            checker: on_device(row.checker),
            is_mounted: false,
        }
    }

    pub(super) fn mount(&mut self) -> Result<(), GroundError> {
        self.forget_pages()?;
        let deadline = Instant::now() + FREE_LIMIT;
        loop {
            let mounted = carry_out_all(&self.mount, &mut NoCalls, &mut Vec::new());
            self.is_mounted = true;
            let Err(error) = mounted else { return Ok(()) };
            // Of several steps the first may be done.
            self.is_mounted = self.mount.len() > 1;
            let _ = self.unmount();
            self.is_mounted = false;
            self.wait_until_free()?;
            // Who looks for a free loop device claims this one for a moment.
            let is_busy = matches!(&error, TargetError::System(it) if it.is(Errno::BUSY));
            if !is_busy || Instant::now() > deadline {
                return Err(error.into());
            }
        }
    }

    pub(super) fn unmount(&mut self) -> Result<(), GroundError> {
        if self.is_mounted {
            carry_out_all(&self.unmount, &mut NoCalls, &mut Vec::new())?;
            self.is_mounted = false;
            self.wait_until_free()?;
        }
        Ok(())
    }

    /// What a check says of what the device holds now; closely, and whether it is there: the checker of its file system,
    /// too.
    pub(super) fn look(
        &mut self,
        check: &mut dyn Check,
        due: u64,
        closely: bool,
    ) -> Result<(Found, bool), GroundError> {
        // As a boot does; the mount tells whether it was enough.
        if self.run(&self.replayer)?.is_none() && !self.replayer.is_empty() {
            let words = format!("`{}`, which replays its journal, is not here", self.replayer);
            return Err(GroundError::Start(std::io::Error::other(words)));
        }
        let mut found = match self.mount() {
            Ok(()) => {
                let found = check.look(&self.at, due);
                self.unmount()?;
                found
            }
            Err(GroundError::Target(refused)) => {
                let losses = vec![Loss::Unmountable(refused.to_string())];
                Found { losses, ..Found::default() }.judged(due)
            }
            Err(other) => return Err(other),
        };
        let checked = if closely { self.run(&self.checker)? } else { None };
        let is_checked = checked.is_some();
        if let Some(output) = checked.filter(|output| !output.status.success()) {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            // That of F2FS begins with what the disk is.
            let tells = |line: &&str| !line.trim().is_empty() && !line.starts_with("Info:");
            let lines: Vec<_> = said.lines().filter(tells).take(8).collect();
            let words = format!("its checker ended with {}: {}", output.status, lines.join("; "));
            found.losses.push(Loss::Damaged(words));
        }
        Ok((found, is_checked))
    }

    /// On the device, which is not mounted; nothing where no such program is here.
    fn run(&self, command: &str) -> Result<Option<Output>, GroundError> {
        let mut words = command.split_whitespace();
        let Some(program) = words.next().and_then(find_program) else { return Ok(None) };
        self.forget_pages()?;
        let mut command = Command::new(program);
        let output = command.args(words).env("LC_ALL", "C").stdin(Stdio::null()).output();
        self.forget_pages()?;
        Ok(Some(output.map_err(GroundError::Start)?))
    }

    /// A file system may outlive its last mount for a moment: a process that was just forked has all that we have open,
    /// until it runs its program. Mounted again meanwhile, it would go on with what it knows of the state before.
    fn wait_until_free(&self) -> Result<(), GroundError> {
        let device = BlockDevice::at(&self.device)?;
        let deadline = Instant::now() + FREE_LIMIT;
        while device.probe_exclusive()? == ExclusiveProbe::Held {
            if Instant::now() > deadline {
                return Err(GroundError::Held(self.device.clone()));
            }
            std::thread::sleep(FREE_POLL);
        }
        Ok(())
    }

    /// What the page cache holds of the device is of the state before.
    pub(super) fn forget_pages(&self) -> Result<(), GroundError> {
        Ok(BlockDevice::at(&self.device)?.flush_buffers()?)
    }
}
