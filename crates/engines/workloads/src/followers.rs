use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use pickfs_pair::{Error, Secondary, SecondaryOptions, StoreOptions, Transport, Waiting};
use pickfs_workload::fault::Fault;
use pickfs_workload::param::{Param, ParamError, Resolved};
use pickfs_workload::role::{self, Player};
use pickfs_workload::workload::Session;

use crate::hosts::{Home, Host};

pub(crate) const SECONDARY: Param = param! { "secondary" = Text("process"),
Words(|| vec!["process", "thread"]);
"what a secondary is: a process of its own, or a thread of the worker" };

#[derive(Debug, Clone)]
pub(crate) struct Terms {
    pub(crate) dir: PathBuf,
    pub(crate) store: StoreOptions,
    pub(crate) transport: Transport,
    pub(crate) waiting: Waiting,
    /// Where the primary is, if they have networks of their own.
    pub(crate) home: Option<Home>,
    pub(crate) cpu: Option<u32>,
}

/// A peer that says nothing for this long is lost, and the trial with it.
pub(crate) const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

pub(crate) fn fault(error: Error) -> Fault {
    match error {
        Error::Journal(error) => Fault::Journal(error),
        Error::Queue(error @ pickfs_queue::Error::Refused { .. }) => {
            Fault::Skipped { reason: format!("queue: {error}") }
        }
        other => Fault::Failed { reason: format!("pair: {other}") },
    }
}

impl Terms {
    fn dir_of(&self, node: u8) -> PathBuf {
        self.dir.join(role_of(node))
    }

    fn open(&self, node: u8, host: Host) -> Result<Secondary, Fault> {
        host.make(|address| {
            let listen = SocketAddr::from((address, 0));
            let options = SecondaryOptions {
                node,
                store: self.store.clone(),
                waiting: self.waiting,
                transport: self.transport,
                timeout: TIMEOUT,
                ..SecondaryOptions::new(self.dir_of(node), listen)
            };
            Secondary::open(options).map_err(fault)
        })
    }
}

fn role_of(node: u8) -> String {
    format!("secondary-{node}")
}

struct Follower {
    dir: PathBuf,
    address: SocketAddr,
    life: Life,
}

enum Life {
    Thread(pickfs_pair::Follower),
    Process(Player),
    Over,
}

pub(crate) struct Followers {
    all: Vec<Follower>,
}

impl Followers {
    pub(crate) fn start(session: &Session, terms: &Terms, count: usize) -> Result<Self, Fault> {
        let mut followers = Followers { all: Vec::new() };
        for node in 2..2 + count as u8 {
            let host = Host::new(node, terms.home);
            let follower = match session.params.text(SECONDARY.name) {
                "thread" => thread(session, terms, node, host)?,
                _ => process(session, terms, node, host)?,
            };
            host.link()?;
            followers.all.push(follower);
        }
        Ok(followers)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(|follower| follower.address).collect()
    }

    /// Ends them, when all that came is in their stores; gives where these are.
    pub(crate) fn end(&mut self) -> Result<Vec<PathBuf>, Fault> {
        for follower in &mut self.all {
            match std::mem::replace(&mut follower.life, Life::Over) {
                Life::Over => {}
                Life::Process(mut player) => player.end::<()>()?,
                Life::Thread(thread) => drop(thread.end().map_err(fault)?),
            }
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

/// It inherits its CPU.
fn thread(session: &Session, terms: &Terms, node: u8, host: Host) -> Result<Follower, Fault> {
    let secondary = terms.open(node, host)?;
    pickfs_workload::placement::pin(terms.cpu)?;
    let thread = secondary.follow();
    pickfs_workload::placement::pin(session.spec.cpu)?;
    let thread = thread.map_err(fault)?;
    Ok(Follower { dir: terms.dir_of(node), address: thread.address(), life: Life::Thread(thread) })
}

fn process(session: &Session, terms: &Terms, node: u8, host: Host) -> Result<Follower, Fault> {
    let mut player = Player::start(session, &role_of(node), |command| host.tell(command))?;
    let address = player.hear()?;
    Ok(Follower { dir: terms.dir_of(node), address, life: Life::Process(player) })
}

/// In the process: follows until the worker has no more words.
pub(crate) fn play(session: &Session, terms: &Terms) -> Result<(), Fault> {
    let role = &session.spec.role;
    let node: Option<u8> = role.strip_prefix("secondary-").and_then(|node| node.parse().ok());
    let unknown = || Fault::Failed { reason: format!("no role {role} in a pair") };
    pickfs_workload::placement::pin(terms.cpu)?;
    let node = node.ok_or_else(unknown)?;
    let mut secondary = terms.open(node, Host::of_role(node))?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    role::listen(move |word| told.store(word.is_none(), Relaxed))?;
    role::answer(&secondary.address())?;
    secondary.run(&stop).map_err(fault)?;
    role::answer(&())
}

pub(crate) fn told(session: &Session, count: usize, cpu: Option<u32>) -> String {
    let cpu = crate::cpu(cpu);
    let what = match session.params.text(SECONDARY.name) {
        "thread" => "a thread of the worker",
        _ => "a process",
    };
    let each = if count == 1 { "1 secondary" } else { &format!("{count} secondaries") };
    format!("{each}, {what} each, on {cpu}")
}

pub(crate) const TRANSPORT: Param = param! { "transport" = Text("tcp"),
Words(|| Transport::ALL.map(Transport::name).to_vec());
"what carries messages to a secondary: TCP with TCP_NODELAY, buffers of the kernel's choice, \
 one connection for each; or Aeron over UDP, which a build by scripts/aeron has" };

pub(crate) fn transport(params: &Resolved) -> Transport {
    Transport::of_name(params.text(TRANSPORT.name)).unwrap_or_default()
}

pub(crate) fn check(params: &Resolved) -> Result<(), ParamError> {
    match transport(params).is_built() {
        true => Ok(()),
        false => Err(params.together(TRANSPORT.name, Transport::MISSING)),
    }
}

/// The folder of the primary beside those of its secondaries.
pub(crate) fn primary_dir(dir: &Path) -> PathBuf {
    dir.join("primary")
}
