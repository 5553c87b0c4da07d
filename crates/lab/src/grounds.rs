//! What the candidates of a run are made on: the scratch of this machine, the image of guests, or
//! both where a plan's cells run under both.

use std::path::Path;

use pickfs_model::{BackingSpec, Cell, Environment};
use pickfs_target::{GuestImage, Progress, Scratch, TargetError, identity::Identity};

use crate::engines::{any_in_guests, any_native};

/// The grounds of a run.
#[derive(Debug)]
pub struct Grounds {
    /// For cells under this machine's kernel.
    pub scratch: Option<Scratch>,
    /// For cells in guests.
    pub image: Option<GuestImage>,
}

impl Grounds {
    /// Prepares what these cells need.
    ///
    /// # Errors
    /// As [`Scratch::prepare`] and [`GuestImage::prepare`]; nothing is left behind then.
    pub fn prepare(
        backing: &BackingSpec,
        run_folder: &Path,
        cells: &[Cell],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Grounds, TargetError> {
        let native = any_native(cells) || cells.is_empty();
        let scratch =
            native.then(|| Scratch::prepare(backing, run_folder, progress)).transpose()?;
        let guests = any_in_guests(cells);
        let image =
            guests.then(|| GuestImage::prepare(backing, run_folder, progress)).transpose()?;
        Ok(Grounds { scratch, image })
    }

    /// Bare figures of the backing in about `seconds`.
    ///
    /// # Errors
    /// When it cannot be written and read.
    pub fn card(&mut self, seconds: f64) -> Result<Environment, TargetError> {
        match (&mut self.scratch, &self.image) {
            (Some(scratch), _) => scratch.card(seconds),
            (None, Some(image)) => image.card(seconds),
            (None, None) => Ok(Environment::default()),
        }
    }

    /// What was pinned of a named device and of its log device.
    pub fn identities(&self) -> [Option<&Identity>; 2] {
        self.scratch.as_ref().map(Scratch::identities).unwrap_or_default()
    }
}
