//! The one list of what this program has beside the core: each a feature of Cargo, all on by default.

use std::process::ExitCode;

/// To be called before anything else; gives the end of a process that was started for an extra.
pub fn arrange() -> Option<ExitCode> {
    #[cfg(feature = "engines")]
    pickfs_engine_workloads::add();
    #[cfg(feature = "explain")]
    explain::add();
    #[cfg(feature = "guest")]
    pickfs_lab::engines::add(&pickfs_guest::trials::Qemu);
    #[cfg(feature = "guest")]
    let started = pickfs_guest::run();
    #[cfg(not(feature = "guest"))]
    let started = None;
    started
}

/// Why a verb does nothing.
#[allow(dead_code)]
pub fn lacking(feature: &str) -> anyhow::Error {
    anyhow::anyhow!("this build is without {feature}; build pickfs with its feature {feature}")
}

/// Keys of the capabilities that conditions may name.
pub fn capabilities() -> Vec<&'static str> {
    #[cfg(feature = "features")]
    return pickfs_features::capabilities().into_iter().map(|known| known.key).collect();
    #[cfg(not(feature = "features"))]
    Vec::new()
}

#[cfg(feature = "explain")]
mod explain {
    use pickfs_explain::{
        Observer,
        calls::{CallWatch, WatchOptions},
    };
    use pickfs_workload::command::calls::{Ending, Seen, Watching};

    pub fn add() {
        pickfs_lab::explain::add(|laps, processes, also| {
            let observer = Observer::start_with(laps, processes, also);
            Box::new(|| observer.finish())
        });
        pickfs_workload::command::calls::add(watch);
    }

    fn watch(Watching { stalls_above_ns }: Watching) -> Result<Ending, String> {
        let options = WatchOptions { stalls_above_ns, ..WatchOptions::default() };
        let watch = CallWatch::of_children(&options).map_err(|refused| refused.to_string())?;
        Ok(Box::new(|| {
            let seen = watch.finish();
            Seen { calls: seen.calls, stalls: seen.stalls }
        }))
    }
}
