//! A candidate on a device, mounted and unmounted as often as there are states: here, or by the same code in a guest.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use pickfs_candidate::{
    TargetError,
    carry_out::{NoCalls, carry_out_all},
};
use pickfs_record::Step;
use pickfs_sys::block::{BlockDevice, ExclusiveProbe};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::error::GroundError;
use crate::{
    check::{Check, Found, Loss},
    log::Position,
};

const FREE_LIMIT: Duration = Duration::from_secs(20);
const FREE_POLL: Duration = Duration::from_millis(1);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mounting {
    pub(super) device: PathBuf,
    pub(super) at: PathBuf,
    pub(super) mount: Vec<Step>,
    pub(super) unmount: Vec<Step>,
    #[serde(skip)]
    pub(super) is_mounted: bool,
}

impl Mounting {
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

    /// What a check says of what the device holds now.
    pub(super) fn look(
        &mut self,
        check: &mut dyn Check,
        crash: Position,
    ) -> Result<Found, GroundError> {
        match self.mount() {
            Ok(()) => {
                let found = check.look(&self.at, crash);
                self.unmount()?;
                Ok(found)
            }
            Err(GroundError::Target(refused)) => {
                let losses = vec![Loss::Unmountable(refused.to_string())];
                Ok(Found { losses, ..Found::default() }.judged(check.due(crash)))
            }
            Err(other) => Err(other),
        }
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
