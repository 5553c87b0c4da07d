//! Who is there, how well their clocks are known, how far apart they begin, and whether a folder is one for all.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use pickfs_lab::interrupt::Interrupt;
use pickfs_record::{
    plan::RanksSpec,
    quantity::{counted, duration_text},
    visible::visible,
};

use crate::{error::RanksError, gathered::gather, message::Task, same_folder::drawn_token};

/// Some twenty milliseconds each.
const STARTS: u32 = 20;

/// What was found, as lines.
///
/// # Errors
/// Whoever cannot measure with the others is named.
pub fn look(
    ranks: &RanksSpec,
    folder: Option<&Path>,
    interrupt: &Interrupt,
) -> Result<String, RanksError> {
    let own = folder.map(OwnFolder::make).transpose()?;
    let place = own.as_ref().map(|own| own.0.as_path());
    let gathered = gather(ranks, place, Task::Starts(STARTS), interrupt)?;
    let mut skews_ns = gathered.skews_ns(interrupt)?;
    skews_ns.sort_unstable();
    let hosts = gathered.by_host();
    let mut text = format!(
        "ranks   {} on {} by {} ({})\n",
        gathered.ranks.len(),
        counted(hosts.len() as u64, "host"),
        gathered.launcher(),
        visible(&gathered.mpi)
    );
    for (facts, ranks) in &hosts {
        let clock = match ranks.contains(&0) {
            true => "the clock that the others are compared with".into(),
            false => format!("clock known to {}", duration_text(facts.bounds.error_ns() as f64)),
        };
        let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
        let (host, kernel) = (visible(&facts.host), visible(&facts.kernel));
        let _ = writeln!(text, "  {host:<12} kernel {kernel}, ranks {}, {clock}", ranks.join(" "));
    }
    let skew = |at: usize| duration_text(skews_ns.get(at).copied().unwrap_or(0) as f64);
    let (middle, last) = (skews_ns.len() / 2, skews_ns.len().saturating_sub(1));
    let _ = writeln!(
        text,
        "starts  {} apart at the median of {}, {} at most",
        skew(middle),
        skews_ns.len(),
        skew(last)
    );
    if let (Some(folder), Some((facts, _))) = (folder, hosts.first()) {
        let seen = &facts.folder;
        let _ = writeln!(
            text,
            "folder  {} is one for all: {} of {}; each host read what the one before it wrote",
            folder.display(),
            visible(&seen.fs_type),
            visible(&seen.source)
        );
    }
    Ok(text)
}

/// Goes with what is ours in it.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn make(above: &Path) -> Result<OwnFolder, RanksError> {
        let path = above.join(format!("pickfs-ranks-{}", drawn_token()));
        fs::create_dir(&path).map_err(|error| {
            RanksError::Told(format!("{} not made: {error}; name another folder", path.display()))
        })?;
        Ok(OwnFolder(path))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let ours = files.filter(|file| file.file_name().to_string_lossy().starts_with("seen-"));
        ours.for_each(|file| drop(fs::remove_file(file.path())));
        let _ = fs::remove_dir(&self.0);
    }
}
