use std::path::PathBuf;

use clap::{Args, Subcommand};

pub const EXAMPLES: &str = "Examples:
  pickfs crash                            ext4, xfs and btrfs, 15 writers, three kinds of crash: 45 recordings
  pickfs crash --fs ext4 --fs ext4:barrier=0 --writer journal/append/fdatasync
  pickfs crash --options --writer journal/append/fdatasync     each feature of ext4, xfs, btrfs that touches the log
  pickfs crash --plan journal --writer journal/append/fdatasync,journal/direct/none --states 500
  pickfs crash --fs ext4 --lying          on a disk whose flush does nothing: records must be seen to be lost
  pickfs crash --fs ext4 --writer journal/append/none --exposed 66s
  pickfs crash --fs ext4 --check 'test \"$(wc -l < log)\" -ge \"$PICKFS_ACKNOWLEDGED\"' -- \\
      sh -c 'for n in 1 2 3; do echo $n >> log; sync log; echo $n; done'
  pickfs crash --log disk.log --fs ext4 --size 1GiB --check CMD --risk-this-kernel     what dm-log-writes saw
  pickfs crash --engine qemu --fs jfs --fs f2fs --writer journal/append/fdatasync     under other kernels
  pickfs crash --of pickfs-runs/2026-11-23-crash/recording-1 --state STATE --save image --engine qemu
  ssh root@OTHER pickfs crash witnessed /mnt/new | pickfs crash witness heard     then cut OTHER's power

Each line that a command prints is a promise: what it tells of must outlive a crash behind
it. It counts from when it was read, so a program that syncs a moment after its line is not
found out. --check runs in the root of the mounted state, with the promises that are due on
its standard input and their number in PICKFS_ACKNOWLEDGED; it ends with 0 where they are
kept, and may say no where none is due. A command that is silent for --silence, or goes on
for --longest, is ended.
--of and --log mount what somebody recorded, which can crash the kernel that does it: with
--engine qemu that is a guest's, and the checker runs there, too.

It makes and mounts file systems, so only root may; whoever may write a folder may have it
witnessed. Exit codes: 0 what was promised was kept by all that was explored (what this machine
lacks is skipped), 3 it was not, or a session failed; 1 could not be done, 2 usage error, 130
interrupted.";

/// A real disk, and a machine beside it.
#[derive(Debug, Clone, Subcommand)]
pub enum RealDisk {
    /// On the machine whose power is cut: write records, and say each that is acknowledged
    Witnessed {
        /// A new folder on the disk in question
        dir: PathBuf,
        /// One that syncs each record
        #[arg(long, value_name = "WRITER", default_value = "journal/pwrite/fdatasync")]
        writer: String,
        /// At most; each takes 300 bytes
        #[arg(long, value_name = "N", default_value_t = 1_000_000)]
        records: u64,
    },
    /// On another machine: write down what is said on standard input
    Witness {
        /// A new file
        file: PathBuf,
    },
    /// After the boot: whether the folder has what the witness heard of
    Judge {
        /// The folder that was written
        dir: PathBuf,
        /// What the witness wrote down, copied here
        file: PathBuf,
    },
}

/// `pickfs crash`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CrashArgs {
    /// A real disk
    #[command(subcommand)]
    pub real_disk: Option<RealDisk>,
    /// A command instead of our own writers; each line that it prints is a promise
    #[arg(last = true, value_name = "COMMAND", requires = "check")]
    pub command: Vec<String>,
    /// For sh -c: whether what the command promised is there; a recording of a command has none of its own
    #[arg(long, value_name = "CMD")]
    pub check: Option<String>,
    /// For sh -c, on the fresh mount, before the command's first promise
    #[arg(long, value_name = "CMD", requires = "command")]
    pub setup: Option<String>,
    /// The command, and that of --setup, are ended when they say nothing for so long: longer than a database takes to be
    /// made on a busy machine
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "command")]
    pub silence: String,
    /// Each of the two is ended when it takes longer, whatever it says
    #[arg(long, value_name = "DURATION", default_value = "1h", requires = "command")]
    pub longest: String,
    /// Instead of a command: a log in the format of dm-log-writes; each mark in it is a promise but for the first,
    /// before which the file system was made; --fs says which, --size how large the disk was
    #[arg(long, value_name = "FILE", requires = "check", conflicts_with_all = ["command", "writer"])]
    pub log: Option<PathBuf>,
    /// A candidate, fs[:mount options][;mkfs=options]; may be repeated (default: ext4, xfs, btrfs)
    #[arg(long = "fs", value_name = "CANDIDATE")]
    pub candidates: Vec<String>,
    /// In guests, of our own writers: qemu (qemu-kvm where KVM works, else qemu-tcg) or one of those two; with --of,
    /// whether another kernel says the same
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["command", "log"])]
    pub engine: Option<String>,
    /// Kernel of the guests: a series as 6.12, or the version of its Debian package
    #[arg(long, value_name = "VERSION", requires = "engine")]
    pub kernel: Option<String>,
    /// Also ext4, xfs and btrfs with each feature that touches what is written at a sync, one at a time
    #[arg(long)]
    pub options: bool,
    /// Also the candidates of a plan that live on a disk; may be repeated
    #[arg(long, value_name = "PLAN")]
    pub plan: Vec<String>,
    /// Who writes: journal/PATH/SYNC[/PREALLOCATION], queue/SYNC, fix/STORE, pair/SYNC, save/both, save/file, save/folder,
    /// save/neither; with commas between, may be repeated
    #[arg(long, value_name = "WRITER", value_delimiter = ',', conflicts_with = "command")]
    pub writer: Vec<String>,
    /// Kinds of crash: process-kill, kernel-crash, power-loss (default: all)
    #[arg(long = "crash", value_name = "KIND", value_delimiter = ',')]
    pub crashes: Vec<String>,
    /// What disks do with writes that no flush covers: none (they have no cache), ordered, any-order
    #[arg(long, value_name = "CACHE", value_delimiter = ',', default_values = ["any-order", "ordered"])]
    pub cache: Vec<String>,
    /// What the disk writes at once or not at all: 512, physical (the sector of the disk below this folder) or request
    #[arg(long, value_name = "UNIT", default_value = "physical")]
    pub unit: String,
    /// A disk whose flush does nothing
    #[arg(long)]
    pub lying: bool,
    /// States of each kind of crash of each recording, at most
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    pub states: u32,
    /// Records of a recording; at least 60, of the queue and the FIX store 240, so that they begin a second file
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "command")]
    pub records: u64,
    /// Seed of the states (default: 1, so that the same recording has the same states)
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where nobody syncs, append 100 records a second for so long: how many seconds a power loss takes
    #[arg(long, value_name = "DURATION", conflicts_with = "command")]
    pub exposed: Option<String>,
    /// One state in so many goes to the file system's own checker; 0 for none
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub fsck_each: u64,
    /// Size of the disk (default: 64 MiB, or the least that the file system takes); with --log its size there
    #[arg(long, value_name = "BYTES")]
    pub size: Option<String>,
    /// Recordings at once (default: two for each processor, as each waits for its disk; with --engine one; at most 8)
    #[arg(long, value_name = "N")]
    pub at_once: Option<usize>,
    /// Keep also the recordings that lost only what was not promised
    #[arg(long)]
    pub keep: bool,
    /// Look at a state again, by its text; may be repeated
    #[arg(long = "state", value_name = "STATE", requires = "of", conflicts_with_all = ["command", "candidates", "options", "plan", "writer"])]
    pub states_again: Vec<String>,
    /// The folder of the recording that has the states
    #[arg(long, value_name = "FOLDER", requires = "states_again")]
    pub of: Option<PathBuf>,
    /// With --log, or --of without --engine: let this kernel mount what somebody recorded
    #[arg(long)]
    pub risk_this_kernel: bool,
    /// Write the disk as the crash left it to a new file
    #[arg(long, value_name = "FILE", requires = "of")]
    pub save: Option<PathBuf>,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "pickfs-runs")]
    pub out: PathBuf,
    /// Write the matrix as Markdown to a file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the matrix as one offline page to a file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write everything as JSON to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
