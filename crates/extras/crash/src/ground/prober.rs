//! Serves a state, mounts it for reading and writing, lets a check look at it, and drops what came of it.

use std::process::{Command, Stdio};

use pickfs_candidate::availability::find_program;

use super::{disk::Disk, error::GroundError, recorder::Order};
use crate::{
    check::{Check, Found, Loss},
    log::Remains,
};

#[derive(Debug)]
pub struct Prober {
    disk: Disk,
    looks: u64,
    /// Looks by a checker; none where there is no such program here.
    checked: u64,
    /// One state in so many is given to the checker of its file system; 0 asks none.
    checker_each: u64,
}

impl Prober {
    /// Ends the recording: the disk is not mounted, and replays from now on.
    pub fn of(mut disk: Disk, checker_each: u64) -> Result<Self, GroundError> {
        disk.watch();
        disk.unmount()?;
        disk.recorder.order(&Order::Replay)?;
        disk.unwatch()?;
        Ok(Self { disk, looks: 0, checked: 0, checker_each })
    }

    /// Closely: by the checker of the file system too, which else sees some.
    pub fn look(
        &mut self,
        state: &Remains,
        check: &mut dyn Check,
        closely: bool,
    ) -> Result<Found, GroundError> {
        self.looks += 1;
        let is_sampled = self.checker_each > 0 && self.looks % self.checker_each == 0;
        self.disk.watch();
        let found = look(&mut self.disk, state, check);
        let damage = if closely || is_sampled { checker(&self.disk)? } else { None };
        self.disk.unwatch()?;
        self.checked += u64::from(damage.is_some());
        let mut found = found?;
        found.losses.extend(damage.flatten().map(Loss::Damaged));
        Ok(found)
    }

    /// Since they were last taken.
    pub fn take_checked(&mut self) -> u64 {
        std::mem::take(&mut self.checked)
    }

    /// The disk with its recording, for what else may be asked of it.
    pub fn disk(&mut self) -> &mut Disk {
        &mut self.disk
    }

    pub fn end(self) -> Result<(), GroundError> {
        self.disk.end()
    }
}

fn look(disk: &mut Disk, state: &Remains, check: &mut dyn Check) -> Result<Found, GroundError> {
    // What is dirty in the page cache of the device is written out here, and would else go into this state.
    disk.forget_pages()?;
    disk.recorder.order(&Order::Serve(state.clone()))?;
    match disk.mount() {
        Ok(()) => {
            let found = check.look(disk.at(), state.crash);
            disk.unmount()?;
            Ok(found)
        }
        Err(GroundError::Target(refused)) => {
            let losses = vec![Loss::Unmountable(refused.to_string())];
            Ok(Found { losses, ..Found::default() }.judged(check.due(state.crash)))
        }
        Err(other) => Err(other),
    }
}

/// What the file system's own checker says of the unmounted state, where it finds anything; it writes nothing. The outer
/// `None` where it has none here.
fn checker(disk: &Disk) -> Result<Option<Option<String>>, GroundError> {
    let device = disk.device().to_string_lossy();
    let words: Vec<String> =
        disk.row.checker.split_whitespace().map(|word| word.replace("SOURCE", &device)).collect();
    let Some((name, words)) = words.split_first() else { return Ok(None) };
    let Some(program) = find_program(name) else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(words).env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().map_err(GroundError::Start)?;
    if output.status.success() {
        return Ok(Some(None));
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(8).collect();
    Ok(Some(Some(format!("{name} ended with {}: {}", output.status, lines.join("; ")))))
}
