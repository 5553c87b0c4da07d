//! Ranks on three hosts of a network: how they are started, what is kept of them, and that nothing of them stays.

use std::{collections::BTreeMap, process::Command};

use pickfs_record::{RunRecord, TrialRecord};
use pickfs_testkit::until;

use super::Network;
use crate::{
    lab_session::tree_of,
    pickfs::{only_run, record},
};

pub const OPEN_MPI: &str = "mpirun.openmpi --host h1:1,h2:1,h3:1 --mca btl_tcp_if_include 10.99.0.0/24 \
                            --mca oob_tcp_if_include 10.99.0.0/24";
pub const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rank_hosts/shared.toml");

impl Network {
    pub fn of_ranks(hosts: &[&str], planted: &str) -> Network {
        Network::within(hosts, &format!("{}{planted}", include_str!("ranks.sh")))
    }

    pub fn place(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    pub fn pickfs(&self, words: &[&str]) -> Command {
        let [program, ssh, tmp] = ["bin/pickfs", "bin/ssh", "tmp"].map(|name| self.place(name));
        let mut command = self.inside(&[&[&*program][..], words].concat());
        command.envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT", "1"),
            ("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_plm_rsh_agent", &*ssh),
            ("PRTE_MCA_plm_ssh_agent", &*ssh),
            ("OMPI_MCA_orte_tmpdir_base", &*tmp),
            ("HYDRA_LAUNCHER_EXEC", &*ssh),
        ]);
        command
    }

    /// A plan in one of the places; what is kept of it has the name.
    pub fn run_in(&self, at: &str, plan: &str, launcher: &str, name: &str, more: &str) -> Command {
        let (dir, out) = (self.place(at), self.place(&format!("out-{name}")));
        let words = ["run", plan, "--yes", "--json", "--dir", &*dir, "--out", &*out];
        let more = ["--ranks", launcher].into_iter().chain(more.split_whitespace());
        self.pickfs(&words.into_iter().chain(more).collect::<Vec<_>>())
    }

    pub fn kept(&self, name: &str) -> RunRecord {
        record(&only_run(&self.folder.join(format!("out-{name}"))))
    }

    /// Trials of the plan of shared files, by what they ask.
    pub fn asked(&self, name: &str) -> BTreeMap<String, TrialRecord> {
        let run = self.kept(name);
        let ask = |trial: &TrialRecord| {
            let cell = run.cells.iter().find(|cell| cell.id == trial.cell).unwrap();
            cell.workload.params["ask"].as_str().unwrap().to_owned()
        };
        run.trials.iter().map(|trial| (ask(trial), trial.clone())).collect()
    }

    /// At the place `far`, by words that leave a process which serves it.
    pub fn mount(&self, hosts: &[&str], words: &str) {
        for host in [&["lab"][..], hosts].concat() {
            let said = self.on(host, words);
            assert_eq!(said.code, Some(0), "{host}: {said:?}");
        }
    }

    pub fn wait_until_nothing_runs(&self) {
        let is_ours = |name: &String| {
            ["pickfs", "mpi", "orted", "hydra", "prted"].iter().any(|begin| name.starts_with(begin))
        };
        until("the end of all that a run started", || {
            (!tree_of(self.first()).values().any(is_ours)).then_some(())
        });
    }

    pub fn assert_nothing_stays(&self) {
        self.wait_until_nothing_runs();
        let places = format!("find {} {} -mindepth 1", self.place("one"), self.place("far"));
        let said = self.on("lab", &places);
        assert_eq!((said.code, &*said.out), (Some(0), ""), "nothing of ours stays: {said:?}");
    }
}
