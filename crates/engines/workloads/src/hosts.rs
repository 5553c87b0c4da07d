//! Hosts of a trial: roles in network namespaces of their own, as on other hosts, each joined by a
//! pair of virtual Ethernet interfaces (veth(4)) to the one that measures.
//! No namespace has a name: it goes with the last thread and socket in it, also after a kill, and
//! its interfaces with it.
//!
//! ```text
//! the measuring thread's             another one's
//!   lo                                 lo
//!   host2  10.73.2.1/24 ──── veth ──── home  10.73.2.2/24
//! ```

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::thread;

use pickfs_sys::own_network;
use pickfs_workload::fault::Fault;
use pickfs_workload::param::{Param, Resolved};

pub(crate) const HOSTS: Param = param! { "hosts" = Text("loopback"),
Words(|| vec!["loopback", "namespaces"]);
"where the other side is: on this host's loopback, or in a network namespace of its own, \
 behind a pair of virtual Ethernet interfaces (needs root and the program ip)" };

pub(crate) fn are_namespaces(params: &Resolved) -> bool {
    params.text(HOSTS.name) == "namespaces"
}

pub(crate) fn told(params: &Resolved) -> &'static str {
    match are_namespaces(params) {
        true => "over virtual Ethernet between network namespaces",
        false => "over loopback",
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    /// The thread: interfaces are put into its network by this number.
    task: i32,
}

/// Where another role is: on the loopback of the same network, or behind an interface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    number: u8,
    home: Option<Home>,
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
        Host { number, home }
    }

    pub(crate) fn of_role(number: u8) -> Host {
        let task = std::env::var(VARIABLE).ok().and_then(|task| task.parse().ok());
        Host { number, home: task.map(|task| Home { task }) }
    }

    pub(crate) fn tell(self, command: &mut Command) {
        if let Some(home) = self.home {
            command.env(VARIABLE, home.task.to_string());
        }
    }

    /// Makes something there: sockets stay in the network in which they were made, and keep it.
    pub(crate) fn make<T: Send>(
        self,
        make: impl FnOnce(IpAddr) -> Result<T, Fault> + Send,
    ) -> Result<T, Fault> {
        let Some(home) = self.home else { return make(Ipv4Addr::LOCALHOST.into()) };
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
        let (Some(_), number, address) = (self.home, self.number, self.address(1)) else {
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
