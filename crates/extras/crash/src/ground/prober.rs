//! Serves a state, mounts it for reading and writing, lets a check look at it, and drops what came of it.

use super::{disk::Disk, error::GroundError, guests::Away, recorder::Order};
use crate::{
    check::{Check, Found, Loss},
    log::Remains,
};

pub struct Prober {
    /// It has the disk open, and goes first.
    away: Option<Away>,
    disk: Disk,
    looks: u64,
    /// Looks by a checker; none where there is no such program here.
    checked: u64,
    /// One state in so many is given to the checker of its file system; 0 asks none.
    checker_each: u64,
}

impl Prober {
    /// Ends the recording: the disk is not mounted, and replays from now on.
    pub(crate) fn of(
        mut disk: Disk,
        mut away: Option<Away>,
        checker_each: u64,
    ) -> Result<Self, GroundError> {
        disk.watch();
        away.as_mut().map_or_else(|| disk.mounting.unmount(), Away::unmount)?;
        disk.recorder.order(&Order::Replay)?;
        disk.unwatch()?;
        Ok(Self { away, disk, looks: 0, checked: 0, checker_each })
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
        let found = self.seen(state, check);
        let damage = if closely || is_sampled { checker(&self.disk)? } else { None };
        self.disk.unwatch()?;
        self.checked += u64::from(damage.is_some());
        let mut found = found?;
        found.losses.extend(damage.flatten().map(Loss::Damaged));
        Ok(found)
    }

    fn seen(&mut self, state: &Remains, check: &mut dyn Check) -> Result<Found, GroundError> {
        let Self { away, disk, .. } = self;
        // What is dirty in the page cache of the device is written out here, and would else go into this state.
        disk.mounting.forget_pages()?;
        disk.recorder.order(&Order::Serve(state.clone()))?;
        // As a boot does; the mount tells whether it was enough.
        disk.run(disk.row.replayer)?;
        let Some(away) = away else { return disk.mounting.look(check, state.crash) };
        let found = away.look()?.judged(check.due(state.crash));
        // Its checker runs here.
        disk.mounting.forget_pages()?;
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
        drop(self.away);
        self.disk.end()
    }
}

/// What the file system's own checker says of the unmounted state, where it finds anything; it writes nothing. The outer
/// `None` where it has none here.
fn checker(disk: &Disk) -> Result<Option<Option<String>>, GroundError> {
    let Some(output) = disk.run(disk.row.checker)? else { return Ok(None) };
    if output.status.success() {
        return Ok(Some(None));
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(8).collect();
    Ok(Some(Some(format!("its checker ended with {}: {}", output.status, lines.join("; ")))))
}
