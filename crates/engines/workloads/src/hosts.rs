//! Hosts of a trial: roles in network namespaces of their own, as on other hosts, each joined by a
//! pair of virtual Ethernet interfaces (veth(4)) to the one that measures; or on a second host, started there by
//! words that carry standard streams, as `ssh HOST pickfs` does.
//! No namespace has a name: it goes with the last thread and socket in it, also after a kill, and
//! its interfaces with it.
//!
//! ```text
//! the measuring thread's             another one's
//!   lo                                 lo
//!   host2  10.73.2.1/24 ──── veth ──── home  10.73.2.2/24
//! ```

use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use pickfs_record::TrialSpec;
use pickfs_sys::own_network;
use pickfs_workload::fault::Fault;
use pickfs_workload::param::{Param, Resolved};
use pickfs_workload::role::Player;
use pickfs_workload::workload::Session;
use rustix::process::set_parent_process_death_signal;

pub(crate) const HOSTS: Param = param! { "hosts" = Text("loopback"),
Words(|| vec!["loopback", "namespaces", "second"]);
"where the other side is: on this host's loopback; in a network namespace of its own, behind a \
 pair of virtual Ethernet interfaces (needs root and the program ip); or on a second host, where \
 the words in PICKFS_SECOND_HOST start this program, as ssh does" };

pub(crate) fn are_namespaces(params: &Resolved) -> bool {
    params.text(HOSTS.name) == "namespaces"
}

pub(crate) fn told(params: &Resolved) -> &'static str {
    match params.text(HOSTS.name) {
        "namespaces" => "over virtual Ethernet between network namespaces",
        "second" => "between two hosts",
        _ => "over loopback",
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    /// The thread: interfaces are put into its network by this number.
    task: i32,
}

/// Where another role is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    number: u8,
    place: Place,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// At this address of the own network.
    At(IpAddr),
    Behind(Home),
}

pub(crate) fn home(params: &Resolved) -> Result<Option<Home>, Fault> {
    if !are_namespaces(params) {
        return Ok(None);
    }
    leave()?;
    ip("link set lo up\n")?;
    Ok(Some(Home { task: own_network::task() }))
}

/// In which variable of a role's environment it finds [`Home`].
const VARIABLE: &str = "PICKFS_HOME_TASK";

impl Host {
    pub(crate) fn new(number: u8, home: Option<Home>) -> Host {
        Host { number, place: home.map_or(Place::At(Ipv4Addr::LOCALHOST.into()), Place::Behind) }
    }

    pub(crate) fn of_role(number: u8, params: &Resolved) -> Result<Host, Fault> {
        if is_second(params) {
            return Ok(Host { number, place: Place::At(wire_address()?) });
        }
        let task = env::var(VARIABLE).ok().and_then(|task| task.parse().ok());
        Ok(Host::new(number, task.map(|task| Home { task })))
    }

    pub(crate) fn tell(self, command: &mut Command) {
        if let Place::Behind(home) = self.place {
            command.env(VARIABLE, home.task.to_string());
        }
    }

    /// Makes something there: sockets stay in the network in which they were made, and keep it.
    pub(crate) fn make<T: Send>(
        self,
        make: impl FnOnce(IpAddr) -> Result<T, Fault> + Send,
    ) -> Result<T, Fault> {
        let home = match self.place {
            Place::At(address) => return make(address),
            Place::Behind(home) => home,
        };
        let body = move || {
            leave()?;
            ip(&self.script(home))?;
            make(self.address(2))
        };
        let died = || Fault::Failed { reason: "the maker of a host died".into() };
        thread::scope(|scope| scope.spawn(body).join().unwrap_or_else(|_| Err(died())))
    }

    /// At home, when something was made there: makes the way to it.
    pub(crate) fn link(self) -> Result<(), Fault> {
        let (Place::Behind(_), number, address) = (self.place, self.number, self.address(1)) else {
            return Ok(());
        };
        ip(&format!("addr add {address}/24 dev host{number}\nlink set host{number} up\n"))
    }

    fn address(self, last: u8) -> IpAddr {
        Ipv4Addr::new(10, 73, self.number, last).into()
    }

    fn script(self, home: Home) -> String {
        let (number, task, address) = (self.number, home.task, self.address(2));
        format!(
            "link set lo up\n\
             link add home type veth peer name host{number} netns {task}\n\
             addr add {address}/24 dev home\n\
             link set home up\n"
        )
    }
}

/// Here: what starts this program on the second host. No plan says it, so no plan of a stranger starts anything.
const SECOND: &str = "PICKFS_SECOND_HOST";
/// What those words may be: nothing is asked, and a line that nobody holds ends.
const BY_SSH: &str = "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 \
                      HOST pickfs";
/// There: at which of its addresses it listens, where that is not the one to which sshd was called.
const WIRE: &str = "PICKFS_WIRE_ADDRESS";
/// To log in and to make a store.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

pub(crate) fn is_second(params: &Resolved) -> bool {
    params.text(HOSTS.name) == "second"
}

/// The role on the second host, which has processors and folders of its own.
pub(crate) fn started_there(session: &Session, role: &str) -> Result<Player, Fault> {
    let words = env::var(SECOND).unwrap_or_default();
    let mut words = words.split_whitespace();
    let program = words.next().ok_or_else(|| Fault::Skipped {
        reason: format!("hosts second: {SECOND} is not set; export {SECOND}='{BY_SSH}'"),
    })?;
    let mut command = Command::new(program);
    command.args(words);
    let (role, directory) = (role.into(), PathBuf::new());
    let (cpu, helper_cpu, cpus) = (None, None, Vec::new());
    let spec = session.spec.clone();
    let spec = TrialSpec { role, directory, cpu, helper_cpu, cpus, ..spec };
    Player::start_by(command, spec, ANSWERS_WITHIN)
}

pub(crate) fn wire_address() -> Result<IpAddr, Fault> {
    let named = env::var(WIRE).ok();
    // sshd(8): who called, its port, which of our addresses, our port.
    let called = env::var("SSH_CONNECTION").ok();
    let word = named.as_deref().or_else(|| called.as_deref()?.split(' ').nth(2));
    word.and_then(|word| word.parse().ok()).ok_or_else(|| Fault::Failed {
        reason: format!(
            "the second host does not know at which address it is reached; end the words with env {WIRE}=ADDRESS pickfs"
        ),
    })
}

/// On the second host: where the program was started there, made by us and gone with the role.
pub(crate) struct OwnFolder(PathBuf);

impl OwnFolder {
    pub(crate) fn make() -> Result<OwnFolder, Fault> {
        // Who started us goes with a line that is cut: then we end by ourselves, and remove it.
        let stays = set_parent_process_death_signal(None);
        stays.map_err(|error| Fault::io("stay behind", "who started us")(error.into()))?;
        let place = env::current_dir().map_err(Fault::io("find", "the current folder"))?;
        let path = place.join(format!("pickfs-pair-{:016x}", pickfs_pair::new_identity()));
        fs::create_dir(&path).map_err(Fault::io("create", &path))?;
        Ok(OwnFolder(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn leave() -> Result<(), Fault> {
    own_network::leave().map_err(|error| skipped(error.to_string()))
}

fn skipped(why: String) -> Fault {
    Fault::Skipped { reason: format!("hosts namespaces: {why}; or take hosts loopback") }
}

fn ip(lines: &str) -> Result<(), Fault> {
    let run = || -> io::Result<_> {
        let mut command = Command::new("ip");
        command.args(["-batch", "-"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(lines.as_bytes())?;
        }
        child.wait_with_output()
    };
    match run() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(skipped("the program ip is not here; install iproute2".into()))
        }
        Err(error) => Err(Fault::io("run", "ip")(error)),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(skipped(format!("ip: {}", said.trim().replace('\n', ", "))))
        }
    }
}
