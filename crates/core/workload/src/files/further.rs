use super::{lane::Lane, new_names, phases::Phase, renaming, saving};
use crate::fault::Fault;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let asked = Phase::asked(lane.settings);
    if asked.contains(&Phase::MakeDirectories) {
        new_names::make_directories(lane)?;
        renaming::run(lane)?;
    }
    if asked.contains(&Phase::SafeSave) {
        new_names::sync_directory(lane)?;
        saving::run(lane)?;
    }
    Ok(())
}
