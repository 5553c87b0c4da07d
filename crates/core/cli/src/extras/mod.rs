//! The one list of what this program has beside the core: each a feature of Cargo, all on by default.

#[cfg(feature = "crash")]
mod crash;
#[cfg(feature = "features")]
mod features;
#[cfg(feature = "guest")]
mod fetch;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(feature = "guest")]
mod guests;
#[cfg(feature = "explain")]
mod program;
#[cfg(feature = "ranks")]
mod ranks;
#[cfg(feature = "serve")]
mod serve;

use std::process::ExitCode;

use pickfs_record::{Cell, Plan, plan::RanksSpec};

use crate::{
    args::{DoctorArgs, FeaturesArgs, RunArgs, ServeArgs},
    commands::{crash::CrashArgs, explain::ExplainArgs},
    exit::Exit,
};

/// To be called before anything else; gives the end of a process that was started for an extra.
pub fn arrange() -> Option<ExitCode> {
    #[cfg(feature = "engines")]
    pickfs_engine_workloads::add();
    #[cfg(feature = "explain")]
    explain::add();
    #[cfg(feature = "crash")]
    if let Some(ended) = pickfs_crash::run() {
        return Some(ended);
    }
    #[cfg(feature = "features")]
    if let Some(ended) = pickfs_features::inside::run() {
        return Some(ended);
    }
    #[cfg(feature = "ranks")]
    if let Some(ended) = pickfs_ranks::run() {
        return Some(ended);
    }
    #[cfg(feature = "ranks")]
    pickfs_lab::ranks::add(&pickfs_ranks::ByMpi);
    #[cfg(feature = "guest")]
    pickfs_lab::engines::add(&pickfs_guest::trials::Qemu);
    #[cfg(feature = "guest")]
    let started = pickfs_guest::run();
    #[cfg(not(feature = "guest"))]
    let started = None;
    started
}

/// Verbs of extras: where this build is without one, it says so.
macro_rules! verbs {
    ($($feature:literal $name:ident($($arg:ident: $type:ty),*) = $call:path;)*) => {$(
        pub fn $name($($arg: $type),*) -> anyhow::Result<Exit> {
            #[cfg(feature = $feature)]
            return $call($($arg),*);
            #[cfg(not(feature = $feature))]
            lacking($feature, ($($arg),*))
        }
    )*};
}

#[allow(dead_code)]
fn lacking<A>(feature: &str, _args: A) -> anyhow::Result<Exit> {
    anyhow::bail!("this build is without {feature}; build pickfs with its feature {feature}")
}

verbs! {
    "crash" crash(args: &CrashArgs) = crash::crash;
    "features" features(args: &FeaturesArgs) = features::features;
    "fleet" as_host(args: &RunArgs) = fleet::as_host;
    "fleet" on_hosts(args: &RunArgs) = fleet::on_hosts;
    "ranks" ranks(words: &str, args: &DoctorArgs) = ranks::doctor;
    "serve" serve(args: &ServeArgs) = serve::serve;
    "guest" guests(args: &DoctorArgs) = guests::guests;
    "explain" explain_command(args: &ExplainArgs) = program::of_command;
    "explain" explain_process(process: u32, args: &ExplainArgs) = program::of_process;
}

/// Before engines are chosen: QEMU alone can tell whether KVM runs a guest here.
pub fn bring_qemu(plan: &Plan) {
    #[cfg(feature = "guest")]
    pickfs_guest::trials::kernels::bring_qemu(plan, fetch::ask());
    let _ = plan;
}

/// What the guests of these cells boot.
pub fn fetch_kernels(cells: &[Cell]) -> anyhow::Result<()> {
    #[cfg(feature = "guest")]
    pickfs_guest::trials::kernels::Kernels::fetch(cells, Some(fetch::ask()))?;
    let _ = cells;
    Ok(())
}

/// The words of `--ranks` and `--ranks-patience`.
pub fn ranks_spec(words: &str, patience: Option<&str>) -> anyhow::Result<RanksSpec> {
    #[cfg(feature = "ranks")]
    return ranks::spec(words, patience);
    #[cfg(not(feature = "ranks"))]
    anyhow::bail!("--ranks {words}{}: this build is without ranks", patience.unwrap_or_default())
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
        pickfs_lab::explain::add(|operations, processes, also| {
            let observer = Observer::start_with(operations, processes, also);
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
