//! The secondaries of a trial: a thread each, on the helper's processor, with a store on the same file system.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use pickfs_pair::{Secondary, SecondaryOptions};

use crate::{
    fault::Fault,
    pair::{gating::fault, params},
    workload::Session,
};

/// One of them.
struct Follower {
    dir: PathBuf,
    address: SocketAddr,
    thread: Option<JoinHandle<Result<(), Fault>>>,
}

/// All of them.
pub(super) struct Followers {
    stop: Arc<AtomicBool>,
    all: Vec<Follower>,
}

impl Followers {
    /// Starts as many as the parameters want, in folders of `dir`.
    pub(super) fn start(session: &Session, dir: &Path) -> Result<Followers, Fault> {
        let mut followers = Followers { stop: Arc::default(), all: Vec::new() };
        for node in 0..params::secondaries(&session.params) as u8 {
            followers.add(session, dir, node + 2)?;
        }
        Ok(followers)
    }

    fn add(&mut self, session: &Session, dir: &Path, node: u8) -> Result<(), Fault> {
        let dir = dir.join(format!("secondary-{node}"));
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = SecondaryOptions {
            node,
            store: params::store(&session.params, false),
            waiting: params::waiting(&session.params),
            timeout: params::TIMEOUT,
            ..SecondaryOptions::new(&dir, listen)
        };
        let mut secondary = Secondary::open(options).map_err(fault)?;
        let address = secondary.address();
        let (stop, cpu) = (Arc::clone(&self.stop), session.spec.helper_cpu);
        let body = move || {
            crate::placement::pin(cpu)?;
            secondary.run(&stop).map_err(fault).map(drop)
        };
        let thread = thread::Builder::new().name(format!("secondary-{node}")).spawn(body);
        let thread = thread.map_err(Fault::io("start a thread for", "a secondary"))?;
        self.all.push(Follower { dir, address, thread: Some(thread) });
        Ok(())
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(|follower| follower.address).collect()
    }

    /// Ends them, when all that came is in their stores; gives where these are.
    pub(super) fn end(&mut self) -> Result<Vec<PathBuf>, Fault> {
        self.stop.store(true, Relaxed);
        for follower in &mut self.all {
            let Some(thread) = follower.thread.take() else { continue };
            let died = || Fault::Failed { reason: "a secondary died".into() };
            thread.join().unwrap_or_else(|_| Err(died()))?;
        }
        Ok(self.all.iter().map(|follower| follower.dir.clone()).collect())
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        // What went wrong was told by `end`, where somebody asked.
        let _ = self.end();
    }
}
