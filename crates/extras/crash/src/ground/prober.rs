//! Serves a state, mounts it for reading and writing, lets a check look at it, and drops what came of it.

use super::{disk::Disk, error::GroundError, guests::Away, recorder::Order};
use crate::{
    check::{Check, Found},
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
    pub fn of(
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
        due: u64,
        check: &mut dyn Check,
        closely: bool,
    ) -> Result<Found, GroundError> {
        self.looks += 1;
        let is_sampled = self.checker_each > 0 && self.looks % self.checker_each == 0;
        self.disk.watch();
        let seen = self.seen(state, due, check, closely || is_sampled);
        self.disk.unwatch()?;
        let (found, is_checked) = seen?;
        self.checked += u64::from(is_checked);
        Ok(found)
    }

    fn seen(
        &mut self,
        state: &Remains,
        due: u64,
        check: &mut dyn Check,
        closely: bool,
    ) -> Result<(Found, bool), GroundError> {
        let Self { away, disk, .. } = self;
        // What is dirty in the page cache of the device is written out here, and would else go into this state.
        disk.mounting.forget_pages()?;
        disk.recorder.order(&Order::Serve(state.clone()))?;
        let Some(away) = away else { return disk.mounting.look(check, due, closely) };
        let (found, is_checked) = away.look(closely)?;
        Ok((found.judged(due), is_checked))
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
