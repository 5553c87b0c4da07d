//! Which hosts, and how a program is started on each.

use std::{
    env,
    fs::File,
    io::{self, Read},
    iter,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pickfs_record::typed::quoted;

use crate::error::FleetError;

const FILE_BYTES_MAX: u64 = 64 << 10;
/// Each takes a process and four threads here.
pub(crate) const HOSTS_MAX: usize = 256;
/// Of a name, which is a file's name too.
const NAME_BYTES_MAX: usize = 128;

/// What starts a program on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// To the hosts of this file, one a line.
    Ssh(PathBuf),
    /// To the hosts of the job of Slurm that we are in.
    Srun,
}

impl Way {
    /// A file, or the word `slurm`.
    pub fn of(word: &Path) -> Way {
        if word == Path::new("slurm") { Way::Srun } else { Way::Ssh(word.to_owned()) }
    }

    pub fn hosts(&self) -> Result<Vec<String>, FleetError> {
        match self {
            Way::Ssh(path) => listed(&text_of(path)?, &path.display().to_string()),
            Way::Srun => listed(&nodes().map_err(FleetError::Job)?, "the job"),
        }
    }

    /// The program with words that no shell takes for anything else.
    pub fn command(&self, host: &str, program: &str, words: &[&str]) -> Command {
        match self {
            // Nobody is there to type a passphrase for one of many; what else ssh does, its own configuration says.
            Way::Ssh(_) => {
                let there: Vec<_> = iter::once(&program).chain(words).map(|w| quoted(w)).collect();
                let mut command = Command::new("ssh");
                command.args(["-T", "-o", "BatchMode=yes", "--", host, &there.join(" ")]);
                command
            }
            Way::Srun => {
                let mut command = Command::new("srun");
                command.args(["--nodes=1", "--ntasks=1", "--overlap", "--mpi=none"]);
                command.arg(format!("--nodelist={host}")).arg(program).args(words);
                command
            }
        }
    }
}

fn text_of(path: &Path) -> Result<String, FleetError> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
        match text.len() as u64 > FILE_BYTES_MAX {
            true => Err(io::Error::other(format!("larger than {} KiB", FILE_BYTES_MAX >> 10))),
            false => Ok(text),
        }
    };
    read().map_err(|source| FleetError::File { path: path.into(), source })
}

/// A job's own list is short for them: `node[01-16]`.
fn nodes() -> Result<String, String> {
    let list = env::var_os("SLURM_JOB_NODELIST").ok_or("SLURM_JOB_NODELIST is not set")?;
    let mut command = Command::new("scontrol");
    command.args(["show", "hostnames"]).arg(list).stdin(Stdio::null());
    let output = command.output().map_err(|why| format!("scontrol: {why}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Each once.
fn listed(text: &str, place: &str) -> Result<Vec<String>, FleetError> {
    let mut hosts: Vec<String> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let host = text.split('#').next().unwrap_or_default().trim();
        if !host.is_empty() && !is_host(host) {
            let host = host.chars().take(NAME_BYTES_MAX).collect();
            return Err(FleetError::Name { place: place.into(), line, host });
        }
        if !host.is_empty() && !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_owned());
        }
    }
    match hosts.len() {
        2..=HOSTS_MAX => Ok(hosts),
        count => Err(FleetError::Count { place: place.into(), count }),
    }
}

/// What is no option of ssh, no word of a shell (ssh hands names to one where a ProxyCommand says so), and a file's name.
fn is_host(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._@:%[]-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_stand_one_a_line_and_what_is_none_is_refused_with_its_line() {
        let text = "# ours\nroot@h1.example\n\n  h2  # the slow one\nfe80::1%eth0\nh2\n";
        let hosts = listed(text, "hosts").expect("three");
        assert_eq!(hosts, ["root@h1.example", "h2", "fe80::1%eth0"]);
        let refused = |text: &str| listed(text, "hosts").expect_err("no hosts").to_string();
        for bad in
            ["-oProxyCommand=true", "a b", "a;b", "$(id)", "`id`", "a'b", "../up", "a/b", "é"]
        {
            let why = refused(&format!("h1\n{bad}\n"));
            assert!(why.starts_with(&format!("line 2 of hosts: `{bad}` is no host")), "{why}");
        }
        assert!(refused(&format!("h1\n{}\n", "a".repeat(129))).contains("is no host"));
        assert!(refused("h1\n").contains("hosts in hosts: 1, and 2 to 256"));
        let many: String = (0..300).map(|number| format!("h{number}\n")).collect();
        assert!(refused(&many).contains("hosts in hosts: 300"));
        let told = |path: &str| Way::of(Path::new(path)).hosts().expect_err("no hosts").to_string();
        assert!(told("/no/hosts").starts_with("cannot read /no/hosts: "));
        assert!(told("/dev/zero").contains("larger than 64 KiB"));
        assert!(told("slurm").contains("SLURM_JOB_NODELIST is not set"));
    }

    #[test]
    fn the_shell_of_a_host_gets_one_word_for_each_of_ours() {
        let words = |way: &str| -> Vec<String> {
            let program = "/opt/p's/pickfs; id";
            let command =
                Way::of(Path::new(way)).command("root@h1", program, &["run", "--as-host"]);
            let all = [command.get_program()].into_iter().chain(command.get_args());
            all.map(|word| word.to_string_lossy().into_owned()).collect()
        };
        let ssh = words("hosts.txt");
        assert_eq!(ssh[..6], ["ssh", "-T", "-o", "BatchMode=yes", "--", "root@h1"]);
        assert_eq!(ssh[6..], [r"'/opt/p'\''s/pickfs; id' run --as-host"]);
        let srun = words("slurm");
        assert_eq!(srun[5..], ["--nodelist=root@h1", "/opt/p's/pickfs; id", "run", "--as-host"]);
    }
}
