use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::message::Order;
use pickfs_candidate::{fs::find, put_mount};
use pickfs_record::{Action, Environment};
use pickfs_sys::mount::{self, MountRequest};

/// A disk's driver may still be making its node.
const APPEARS: Duration = Duration::from_secs(10);
/// What a program that ended may still hold.
const RELEASES: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);
/// Programs lie in the guest where they lay on the host.
const PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";
/// No guest has udev, for which zpool would wait three seconds at each import. Source: zpool(8).
const NO_UDEV: (&str, &str) = ("ZFS_VDEV_DEVID_OPT_OUT", "YES");

pub struct Candidate {
    order: Order,
}

impl Candidate {
    pub fn mount(order: Order) -> Result<Candidate, String> {
        fs::create_dir_all(&order.at).map_err(|error| format!("make {}: {error}", order.at))?;
        if let Some(disk) = &order.disk {
            let began = Instant::now();
            while !Path::new(disk).exists() {
                if began.elapsed() > APPEARS {
                    return Err(format!("no disk {disk} in the guest"));
                }
                std::thread::sleep(POLL);
            }
        }
        let candidate = Candidate { order };
        candidate.take(&candidate.order.make)?;
        candidate.take(&candidate.order.mount)?;
        Ok(candidate)
    }

    pub fn directory(&self) -> PathBuf {
        self.order.at.clone().into()
    }

    pub fn facts(&self) -> Result<Environment, String> {
        let mut facts = Environment::default();
        let put = put_mount(&mut facts, &self.directory(), find(&self.order.fs));
        put.map(|()| facts).map_err(|error| error.to_string())
    }

    pub fn cool(&mut self) -> Result<(), String> {
        if self.order.disk.is_some() {
            self.anew()?;
        }
        let drop = fs::write("/proc/sys/vm/drop_caches", "3");
        drop.map_err(|error| format!("caches of the guest not dropped: {error}"))
    }

    fn anew(&mut self) -> Result<(), String> {
        self.unmount()?;
        self.take(&self.order.mount)
    }

    pub fn unmount(&self) -> Result<(), String> {
        self.take(&self.order.unmount)
    }

    fn take(&self, steps: &[Action]) -> Result<(), String> {
        steps.iter().try_for_each(take)
    }
}

fn take(step: &Action) -> Result<(), String> {
    match step {
        Action::Mount { source, fs_type, options, at } => {
            let request = MountRequest::new(source, at, fs_type).options(options.join(","));
            mount::mount(&request).map_err(|error| error.to_string())
        }
        Action::Unmount { at } => unmount(Path::new(at)),
        Action::Exec { program, args } => run(program, args),
        Action::Call { name, .. } => Err(format!("[{name}] is for the host; a guest cannot do it")),
    }
}

fn unmount(at: &Path) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match mount::unmount(at) {
            Err(error) if error.is(rustix::io::Errno::BUSY) && began.elapsed() < RELEASES => {
                std::thread::sleep(POLL);
            }
            other => return other.map_err(|error| error.to_string()),
        }
    }
}

fn run(program: &str, args: &[String]) -> Result<(), String> {
    let output =
        Command::new(program).args(args).env("PATH", PATH).env(NO_UDEV.0, NO_UDEV.1).output();
    let output = output.map_err(|error| format!("{program} not started in the guest: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("{program} failed in the guest with {}: {said}", output.status))
        }
    }
}
