use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use pickfs_pair::{Error, Secondary, SecondaryOptions, StoreOptions, Transport, Waiting};
use pickfs_workload::fault::Fault;
use pickfs_workload::param::{Param, ParamError, Resolved};
use pickfs_workload::role::{self, Player};
use pickfs_workload::workload::Session;

use crate::hosts::{self, Home, Host};

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
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// Nobody needs a role any more that no primary has spoken to for so long.
pub(crate) const ABANDONED: Duration = Duration::from_secs(900);

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

    fn open(&self, node: u8, host: Host, identity: u64) -> Result<Secondary, Fault> {
        host.make(|address| {
            let listen = SocketAddr::from((address, 0));
            let options = SecondaryOptions {
                node,
                store: self.store.clone(),
                waiting: self.waiting,
                transport: self.transport,
                timeout: TIMEOUT,
                identity,
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
    /// None that this host can read, where it is on another one.
    dir: Option<PathBuf>,
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
    /// Whoever does not know it is not followed.
    identity: u64,
}

impl Followers {
    pub(crate) fn start(session: &Session, terms: &Terms, count: usize) -> Result<Self, Fault> {
        let identity = pickfs_pair::new_identity();
        let mut followers = Followers { all: Vec::new(), identity };
        for node in 2..2 + count as u8 {
            let host = Host::new(node, terms.home);
            let follower = match session.params.text(SECONDARY.name) {
                "thread" => thread(session, terms, (node, host), identity)?,
                _ => process(session, terms, (node, host), identity)?,
            };
            host.link()?;
            followers.all.push(follower);
        }
        Ok(followers)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.all.iter().map(|follower| follower.address).collect()
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Ends those of a second host: each compares its store with so many messages. How many were compared in all.
    pub(crate) fn compared_there(&mut self, sent: u64) -> Result<u64, Fault> {
        let mut compared = 0;
        for follower in self.all.iter_mut().filter(|follower| follower.dir.is_none()) {
            if let Life::Process(mut player) = std::mem::replace(&mut follower.life, Life::Over) {
                player.say(&sent.to_string())?;
                compared += player.end::<u64>()?;
            }
        }
        Ok(compared)
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
        Ok(self.all.iter().filter_map(|follower| follower.dir.clone()).collect())
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        // Nobody asks any more what those of a second host hold, and their line may be held by nobody.
        for there in self.all.iter_mut().filter(|follower| follower.dir.is_none()) {
            there.life = Life::Over;
        }
        // What went wrong was told by `end`, where somebody asked.
        let _ = self.end();
    }
}

/// It inherits its CPU.
fn thread(
    session: &Session,
    terms: &Terms,
    (node, host): (u8, Host),
    identity: u64,
) -> Result<Follower, Fault> {
    let secondary = terms.open(node, host, identity)?;
    pickfs_workload::placement::pin(terms.cpu)?;
    let thread = secondary.follow();
    pickfs_workload::placement::pin(session.spec.cpu)?;
    let thread = thread.map_err(fault)?;
    let (dir, address) = (Some(terms.dir_of(node)), thread.address());
    Ok(Follower { dir, address, life: Life::Thread(thread) })
}

fn process(
    session: &Session,
    terms: &Terms,
    (node, host): (u8, Host),
    identity: u64,
) -> Result<Follower, Fault> {
    let (role, is_there) = (role_of(node), hosts::is_second(&session.params));
    let mut player = match is_there {
        true => hosts::started_there(session, &role)?,
        false => Player::start(session, &role, |command| host.tell(command))?,
    };
    player.say(&identity.to_string())?;
    let address = player.hear()?;
    let dir = (!is_there).then(|| terms.dir_of(node));
    Ok(Follower { dir, address, life: Life::Process(player) })
}

/// What is said to a role; the first word is what whoever connects to it must know.
pub(crate) fn words() -> Result<(u64, Receiver<String>), Fault> {
    let (to, from) = channel();
    role::listen(move |word| {
        if let Some(word) = word {
            let _ = to.send(word.to_owned());
        }
    })?;
    let first = from.recv().ok().and_then(|word: String| word.parse().ok());
    let none = || Fault::Failed { reason: "the role was not told whom it may listen to".into() };
    Ok((first.filter(|known| *known != 0).ok_or_else(none)?, from))
}

/// A store that followed, and how many messages it should hold.
pub(crate) struct Kept {
    pub(crate) dir: PathBuf,
    pub(crate) sent: u64,
}

/// In the process: follows until the worker has no more words, or says how many messages are to be compared.
pub(crate) fn follow(session: &Session, terms: &Terms) -> Result<Option<Kept>, Fault> {
    let role = &session.spec.role;
    let node: Option<u8> = role.strip_prefix("secondary-").and_then(|node| node.parse().ok());
    let unknown = || Fault::Failed { reason: format!("no role {role} in a pair") };
    pickfs_workload::placement::pin(terms.cpu)?;
    let node = node.ok_or_else(unknown)?;
    let (identity, words) = words()?;
    let host = Host::of_role(node, &session.params)?;
    let mut secondary = terms.open(node, host, identity)?;
    role::answer(&secondary.address())?;
    let (mut sent, mut since): (Option<u64>, _) = (None, Instant::now());
    let ended = secondary.run_while(|secondary| {
        let status = secondary.status();
        if status.is_live && sent.is_none() {
            since = Instant::now();
        }
        match words.try_recv() {
            Ok(word) => sent = word.parse().ok(),
            Err(TryRecvError::Disconnected) => return false,
            Err(TryRecvError::Empty) => {}
        }
        match sent {
            // What was sent last may be on its way.
            Some(sent) => status.last.sequence < sent && since.elapsed() < TIMEOUT,
            None => since.elapsed() < ABANDONED,
        }
    });
    ended.map_err(fault)?;
    Ok(sent.map(|sent| Kept { dir: terms.dir_of(node), sent }))
}

/// The same where nothing is compared by the role itself.
pub(crate) fn play(session: &Session, terms: &Terms) -> Result<(), Fault> {
    follow(session, terms)?;
    role::answer(&())
}

pub(crate) fn told(session: &Session, count: usize, cpu: Option<u32>) -> String {
    let cpu = crate::cpu(cpu);
    let what = match session.params.text(SECONDARY.name) {
        _ if hosts::is_second(&session.params) => "a process of the second host",
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
