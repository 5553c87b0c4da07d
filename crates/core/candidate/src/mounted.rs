use std::path::PathBuf;

use pickfs_record::record::ImageRecord;
use pickfs_record::{BackingKind, Durability, Environment, Step, StepRecord};
use pickfs_sys::residency::{self, Caches};

use crate::carry_out;
use crate::error::TargetError;
use crate::fs::Period;
use crate::scratch::Scratch;

/// Dropping it takes the same steps as [`Mounted::unmount`], without a report.
#[derive(Debug)]
pub struct Mounted<'scratch> {
    pub(crate) scratch: &'scratch mut Scratch,
    pub directory: PathBuf,
    /// `mount.driver`, `mount.options`, `mount.block_size_bytes`, `device.*`, `host.*`.
    pub environment: Environment,
    pub backing: BackingKind,
    /// When it was mounted; `None` without an image.
    pub image: Option<ImageRecord>,
    pub promise: Promise,
    pub(crate) cool: Vec<Step>,
    pub(crate) anew: Vec<Step>,
    pub(crate) end: Vec<Step>,
    pub(crate) ended: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Promise {
    pub durability: Durability,
    pub why: String,
    pub periods: Vec<Period>,
}

impl Mounted<'_> {
    /// Its own caches (a pool is exported and imported again; what a program serves through FUSE,
    /// and ext3 and ext4, whose journal holds metadata, are unmounted and mounted again), and with
    /// `drop_caches` the kernel's, which is machine-wide and needs the user's consent. Nothing of
    /// the mount may be open.
    pub fn make_cold(
        &mut self,
        drop_caches: bool,
        log: &mut Vec<StepRecord>,
    ) -> Result<(), TargetError> {
        let steps = self.cool.clone();
        carry_out::carry_out_all(&steps, self.scratch, log)?;
        match drop_caches {
            true => residency::drop_caches(Caches::Both).map_err(TargetError::from),
            false => Ok(()),
        }
    }

    /// So that only what was written down is left. False where that cannot be: what lives in
    /// memory would be lost, and a directory is not ours to unmount. After an error the candidate
    /// may not be mounted.
    pub fn mount_again(&mut self, log: &mut Vec<StepRecord>) -> Result<bool, TargetError> {
        let steps = self.anew.clone();
        carry_out::carry_out_all(&steps, self.scratch, log)?;
        Ok(!steps.is_empty())
    }

    /// Ends what served it too; gives back the image's record with both states. After an error the
    /// other steps are taken all the same, so that nothing stays.
    pub fn unmount(
        mut self,
        log: &mut Vec<StepRecord>,
    ) -> Result<Option<ImageRecord>, TargetError> {
        self.finish(log)?;
        let state = self.scratch.image_state()?;
        Ok(self.image.zip(state).map(|(image, state)| image.ended_as(state)))
    }

    fn finish(&mut self, log: &mut Vec<StepRecord>) -> Result<(), TargetError> {
        self.ended = true;
        let steps = std::mem::take(&mut self.end);
        end_all(&steps, self.scratch, log)
    }
}

/// Takes every step, whatever the ones before said, and ends what is left of helpers; the first
/// error is the answer.
pub(crate) fn end_all(
    steps: &[Step],
    scratch: &mut Scratch,
    log: &mut Vec<StepRecord>,
) -> Result<(), TargetError> {
    let mut answer = Ok(());
    for step in steps {
        let taken = carry_out::carry_out(step, scratch, log);
        answer = answer.and(taken);
    }
    scratch.helpers.clear();
    answer
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.finish(&mut Vec::new());
        }
    }
}
