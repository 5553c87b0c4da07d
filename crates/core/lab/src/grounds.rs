use std::path::Path;

use pickfs_candidate::{GuestImage, Progress, Scratch, TargetError, identity::Identity};
use pickfs_record::{BackingSpec, Cell, Environment};

use crate::engines::{any_in_guests, any_native};

#[derive(Debug)]
pub struct Grounds {
    pub scratch: Option<Scratch>,
    pub image: Option<GuestImage>,
}

impl Grounds {
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

    pub fn card(&mut self, seconds: f64) -> Result<Environment, TargetError> {
        match (&mut self.scratch, &self.image) {
            (Some(scratch), _) => scratch.card(seconds),
            (None, Some(image)) => image.card(seconds),
            (None, None) => Ok(Environment::default()),
        }
    }

    pub fn identities(&self) -> [Option<&Identity>; 2] {
        self.scratch.as_ref().map(Scratch::identities).unwrap_or_default()
    }
}
