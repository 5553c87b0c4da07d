//! A guest is killed while it writes, and a witness outside has heard of what it acknowledged. Its disk is served here and
//! loses what a cache may have lost by then; QEMU's own file would lose nothing, as this machine's memory outlives QEMU.
#![allow(clippy::unwrap_used)]

mod guest_kernel;
mod pickfs;
#[path = "../../candidate/tests/ring/mod.rs"]
mod ring;

use std::{
    io::{ErrorKind, Write},
    os::unix::net::UnixStream,
    thread,
    time::Duration,
};

use pickfs::PICKFS;
use pickfs_crash::{
    explore::State,
    ground::{
        Away, Disk, Guests, Means, Prober,
        recorder::{Order, recording},
    },
    log::Position,
    model::Windows,
    oracle::Command,
    witness::witness,
};
use pickfs_guest::{Engine, trials::kernels::Tools};

const TESTS: &[ring::Test] =
    &[("a_killed_guest_has_what_its_witness_heard_of_unless_its_disk_lies", killed)];

fn main() {
    ring::run(TESTS);
}

fn killed() {
    if !ring::have(&["mkfs.ext4", "/dev/fuse"]) {
        return;
    }
    let Some((_, kernel)) = guest_kernel::kernel() else { return };
    let (_guard, out) = ring::folder();
    let means = Means { program: PICKFS.into(), folder: out.join("work"), guests: None };
    let guests = Guests { engine: Engine::QemuTcg, kernel, tools: Tools::default() };
    let mut disk = Disk::make(&means, &"ext4".parse().unwrap(), 64 << 20, &mut Vec::new()).unwrap();
    let of_writer = (&disk, "journal/append/fdatasync/none");
    let mut away = Away::boot(&guests, &means.program, of_writer, &|| false).unwrap();
    let ((mut says, hears), heard) = (UnixStream::pair().unwrap(), out.join("heard"));
    let (into, mut start, mut lines) = (heard.clone(), Position(0), 0);
    let listener = thread::spawn(move || witness(hears, &into, &mut || {}).unwrap());
    let ended = away.witnessed(1_000_000, &mut |line| {
        lines += 1;
        match lines {
            1 => start = disk.recorder().position(),
            51 => return Err(ErrorKind::BrokenPipe.into()),
            _ => {}
        }
        writeln!(says, "{line}")
    });
    // SIGKILL, behind the line that the witness did not hear: the guest waits for nobody.
    drop((away, says));
    assert!(ended.is_err());
    assert_eq!(listener.join().unwrap(), 49);
    let mut prober = Prober::of(disk, None, 0).unwrap();
    let file = out.join("log");
    prober.disk().recorder().order(&Order::SaveLog(file.clone())).unwrap();
    let log = recording(&file, 0).unwrap();
    let words = [PICKFS, "crash", "judge", "new", heard.to_str().unwrap()].map(String::from);
    // As after a boot: the guest's was another.
    let patience = Duration::from_secs(60);
    let mut judge = Command { words: words.into(), lines: Vec::new(), patience };
    for (crash, kept, words) in [
        ("kernel-crash", "all", "nothing is lost"),
        ("power-loss:any-order/4096/honest", "nothing", "nothing is lost"),
        ("power-loss:any-order/4096/honest", "pieces-4", "nothing is lost"),
        ("power-loss:any-order/4096/honest", "pieces-6", "nothing is lost"),
        ("power-loss:any-order/4096/lying", "nothing", "LOST"),
    ] {
        let state: State = format!("{crash}@{}+{kept}", log.end().0).parse().unwrap();
        let remains = state.remains(&Windows::new(&log, start, state.crash)).unwrap();
        let found = prober.look(&remains, 49, &mut judge, false).unwrap().words();
        println!("{state}: {found}");
        assert!(found.contains(words), "{state}: {found}");
    }
    prober.end().unwrap();
}
