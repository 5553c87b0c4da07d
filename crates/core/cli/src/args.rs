use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use pickfs_record::Cpus;
use pickfs_report::{ChartKind, chart::UnknownChart};

use crate::{
    commands::{choose, crash, exec, explain},
    examples,
};

/// Choose a file system by experiment: which one, made and mounted how, gives an application the
/// lowest latency on its own hardware.
#[derive(Debug, Parser)]
#[command(name = "pickfs", version, about, after_help = examples::PICKFS)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a plan: make, mount and measure every candidate, and give a verdict
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Run any command in a fresh mount of each candidate, time it, and give a verdict
    #[command(after_help = exec::EXAMPLES)]
    Exec(exec::ExecArgs),
    /// Show what a plan would do; nothing is touched
    #[command(after_help = examples::PLAN)]
    Plan(PlanArgs),
    /// Check this machine: what can be tested, and how to get the rest; or remove what killed runs left
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// What each file system can do, asked of it: links, holes, flushes, torn reads, ...
    #[command(after_help = examples::FEATURES)]
    Features(FeaturesArgs),
    /// What survives a process kill, a kernel crash, a power loss: states of a crash made again and looked at
    #[command(after_help = crash::EXAMPLES)]
    Crash(crash::CrashArgs),
    /// The runs in a folder, or one of them on the terminal
    #[command(after_help = examples::SHOW)]
    Show(ShowArgs),
    /// One run as HTML, Markdown, CSV, hlog, PNG, SVG or JSON
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Runs side by side, the differences of their machines first; or beside what others published
    #[command(after_help = examples::COMPARE)]
    Compare(CompareArgs),
    /// Which candidate serves an objective best, under hard conditions
    #[command(after_help = choose::EXAMPLES)]
    Choose(choose::ChooseArgs),
    /// Why operations of a run were slow: what the kernel was doing, and what to change
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::ExplainArgs),
    /// All runs of a folder in a browser, read-only
    #[command(after_help = examples::SERVE)]
    Serve(ServeArgs),
    /// The manual on the terminal, all its pages to a folder, or a shell completion script
    #[command(after_help = examples::MAN)]
    Man(ManArgs),
}

impl Command {
    pub fn speaks_json(&self) -> bool {
        match self {
            Command::Run(args) => args.json,
            Command::Exec(args) => args.json,
            Command::Plan(args) => args.json,
            _ => false,
        }
    }

    pub fn outlives_its_reader(&self) -> bool {
        use Command::{Crash, Exec, Run, Serve};
        matches!(self, Crash(_) | Exec(_) | Run(_) | Serve(_))
    }
}

/// Which plan, and what is different this time.
#[derive(Debug, Clone, Args)]
pub struct PlanChoice {
    /// A built-in plan (see `pickfs plan`) or a plan file
    #[arg(default_value = "quick")]
    pub plan: String,
    /// What is different this time.
    #[command(flatten)]
    pub changes: PlanChanges,
}

const WHAT: &str = "What is measured";
const WHERE: &str = "Where";
const HOW_LONG: &str = "How long, how often";
const ALLOW: &str = "Allow";

/// What is different from a plan this time.
#[derive(Debug, Clone, Args)]
pub struct PlanChanges {
    /// A candidate, fs[:mount options][;mkfs=options], or names with commas between; may be
    /// repeated, replaces the plan's
    #[arg(help_heading = WHAT, long = "fs", value_name = "CANDIDATE")]
    pub candidates: Vec<String>,
    /// What the others are compared with
    #[arg(help_heading = WHAT, long, value_name = "LABEL")]
    pub reference: Option<String>,
    /// Kernel to measure under: this machine's (native), or a guest without root (qemu: virtual where KVM works,
    /// else emulated; qemu-kvm or qemu-tcg force one), or the first that can mount the candidate (auto)
    #[arg(help_heading = WHERE, long, value_name = "ENGINE", conflicts_with_all = ["device", "dirs"])]
    pub engine: Option<String>,
    /// Loop image on a tmpfs: the software path without the device
    #[arg(help_heading = WHERE, long, conflicts_with_all = ["device", "dirs"])]
    pub ram: bool,
    /// A block device; everything on it is lost
    #[arg(help_heading = WHERE, long, value_name = "NODE", conflicts_with = "dirs")]
    pub device: Option<PathBuf>,
    /// A second block device, for the log (journal) of file systems that can put it there; all on it is lost
    #[arg(help_heading = WHERE, long, value_name = "NODE", requires = "device")]
    pub log_device: Option<PathBuf>,
    /// Allow an inactive file system, or unknown data, on the devices to be overwritten
    #[arg(help_heading = WHERE, long, requires = "device")]
    pub erase: bool,
    /// State of the device before each make
    #[arg(help_heading = WHERE, long, value_enum, default_value_t = StateWord::Filled, requires = "device")]
    pub device_state: StateWord,
    /// A directory that exists: no mkfs, no mount, no root; several (--dir A --dir B) are compared
    #[arg(help_heading = WHERE, long = "dir", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Ranks of MPI as lanes, by the words that launch them, as 'mpirun -np 4 --host a:2,b:2': many hosts, one folder that is
    /// mounted on each of them and here; see pickfs doctor --ranks
    #[arg(help_heading = WHERE, long, value_name = "WORDS", requires = "dirs")]
    pub ranks: Option<String>,
    /// With --ranks: how long the others are waited for when one has come, before their hosts are named and the trial fails
    /// (default: 2m)
    #[arg(help_heading = HOW_LONG, long, value_name = "DURATION", requires = "ranks")]
    pub ranks_patience: Option<String>,
    /// Folder for the loop image: it chooses the disk (default: the run's own folder)
    #[arg(help_heading = WHERE, long, value_name = "DIR")]
    pub image_dir: Option<PathBuf>,
    /// Size of the image
    #[arg(help_heading = WHERE, long, value_name = "BYTES")]
    pub size: Option<String>,
    /// Blocks: each candidate once, in random order; so many, decided or not, unless --until-decided or --budget is there
    #[arg(help_heading = HOW_LONG, long, value_name = "N")]
    pub blocks: Option<u32>,
    /// Seed of every random choice (default: drawn for this run, printed and stored)
    #[arg(help_heading = HOW_LONG, long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measured time of one trial
    #[arg(help_heading = HOW_LONG, long, value_name = "DURATION")]
    pub measure: Option<String>,
    /// Warm-up of one trial
    #[arg(help_heading = HOW_LONG, long, value_name = "DURATION")]
    pub warmup: Option<String>,
    /// Raw device probe before each trial
    #[arg(help_heading = HOW_LONG, long, value_name = "DURATION")]
    pub raw_probe: Option<String>,
    /// A workload parameter, name=value; may be repeated
    #[arg(help_heading = WHAT, long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A parameter that varies, name=value,value; may be repeated
    #[arg(help_heading = WHAT, long = "axis", value_name = "NAME=A,B")]
    pub axis: Vec<String>,
    /// Race: blocks go to those that may be the best, until the choice is settled
    #[arg(help_heading = HOW_LONG, long)]
    pub until_decided: bool,
    /// Race as --until-decided does, for this long at most (default: the plan's, else 45m)
    #[arg(help_heading = HOW_LONG, long, value_name = "DURATION")]
    pub budget: Option<String>,
    /// Join operations above this time with what the kernel was doing (see pickfs explain); also samples=HZ, context
    #[arg(help_heading = WHAT, long, value_name = "DURATION,...", num_args = 0..=1, require_equals = true, default_missing_value = "100us")]
    pub explain: Option<String>,
    /// Processors that measure (thread, lanes, commands) and that help (other threads, the lab), as
    /// measure=2-3,help=0-1; see pickfs doctor
    #[arg(help_heading = WHERE, long, value_name = "measure=LIST,help=LIST", conflicts_with = "engine")]
    pub cpus: Option<Cpus>,
    /// Allow the page cache of the whole machine to be dropped
    #[arg(help_heading = ALLOW, long)]
    pub allow_drop_caches: bool,
    /// Allow settings of the whole machine (vm.*, mm.*) to be changed for a trial; put back after it
    #[arg(help_heading = ALLOW, long)]
    pub allow_system_tuning: bool,
    /// Allow SCHED_FIFO where the parameter thread_policy asks for it
    #[arg(help_heading = ALLOW, long)]
    pub allow_realtime: bool,
    /// Allow the words of the parameter fault of workload shared to be run, on the first host; a plan cannot allow it
    #[arg(help_heading = ALLOW, long)]
    pub allow_fault: bool,
}

/// State of a device before each make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StateWord {
    /// Written over with random data once, nothing discarded
    Filled,
    /// Discarded as a whole
    Discarded,
}

/// `pickfs run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The plan.
    #[command(flatten)]
    pub choice: PlanChoice,
    /// Job files of fio instead of a plan: run by fio itself, its figures in the same tables
    #[arg(long, value_name = "JOBFILE", num_args = 1.., conflicts_with_all = ["plan", "resume", "set"])]
    pub fio: Vec<PathBuf>,
    /// Resume an interrupted run, in a new block
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "candidates", "reference", "dirs", "ram", "image_dir", "size", "blocks", "seed", "measure", "warmup",
        "raw_probe", "set", "axis", "until_decided", "budget", "ranks",
    ])]
    pub resume: Option<PathBuf>,
    /// Run a stored plan again, the same in all but the seed, and compare: which earlier choices hold, changed, or cannot be told
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "plan", "fio", "resume", "candidates", "reference", "engine", "dirs", "ram", "device_state", "image_dir", "size",
        "blocks", "measure", "warmup", "raw_probe", "set", "axis", "until_decided", "budget", "explain", "cpus",
        "allow_drop_caches", "allow_system_tuning", "allow_realtime", "allow_fault", "ranks",
    ])]
    pub again: Option<PathBuf>,
    /// On many hosts at once, each for itself, by ssh to those of this file (one a line), or `slurm`: by srun to those of
    /// the job; then whether the choice holds across them
    #[arg(long, value_name = "FILE|slurm", conflicts_with_all = ["resume", "again", "ranks"])]
    pub hosts: Option<PathBuf>,
    /// With --hosts, where this program is on each host
    #[arg(long, value_name = "PATH", requires = "hosts", default_value = "pickfs")]
    pub hosts_program: String,
    /// What --hosts starts there: the plan comes on standard input, and the run goes to standard output
    #[arg(long, hide = true, conflicts_with_all = ["plan", "fio", "resume", "again", "hosts", "json"])]
    pub as_host: bool,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "pickfs-runs")]
    pub out: PathBuf,
    /// Stream events as JSON lines instead of a progress bar
    #[arg(long)]
    pub json: bool,
    /// Agree to the commands and options of a run or plan file that came from elsewhere
    #[arg(long)]
    pub yes: bool,
}

/// `pickfs plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// The plan.
    #[command(flatten)]
    pub choice: PlanChoice,
    /// The exact commands: of each candidate, and those that the workload runs
    #[arg(long)]
    pub steps: bool,
    /// The built-in plans with their questions
    #[arg(long, conflicts_with = "steps")]
    pub list: bool,
    /// The parameters of the plan's workload: default, what is allowed, what each does
    #[arg(long, conflicts_with_all = ["steps", "list", "json"])]
    pub parameters: bool,
    /// The plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// `pickfs doctor`.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    /// Start ranks of MPI by these words, as 'mpirun -np 3 --host a,b,c', and say who is there, how well their clocks are
    /// known and how far apart they start; with --dir also whether that folder is one for all of them
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["device", "guests", "json"])]
    pub ranks: Option<String>,
    /// With --ranks: the folder
    #[arg(long, value_name = "DIR", requires = "ranks")]
    pub dir: Option<PathBuf>,
    /// With --ranks: how long each step may take (default: 2m)
    #[arg(long, value_name = "DURATION", requires = "ranks")]
    pub ranks_patience: Option<String>,
    /// A block device: processors near it are proposed for --cpus
    #[arg(long, value_name = "NODE", conflicts_with = "guests")]
    pub device: Option<PathBuf>,
    /// Try each file system in a guest kernel: write, mount again, compare (no root; about a minute)
    #[arg(long, conflicts_with = "json")]
    pub guests: bool,
    /// With --guests, in this engine: qemu (qemu-kvm where KVM works, else qemu-tcg) or one of those two
    #[arg(long, value_name = "ENGINE", requires = "guests")]
    pub engine: Option<String>,
    /// With --guests, first build the modules that the guest's kernel lacks: UFS that writes, Reiser 3.5 and OpenZFS
    /// (needs a C compiler; 140 MB of source and some twenty minutes, once; --fs builds only what is named)
    #[arg(long, requires = "guests")]
    pub build_modules: bool,
    /// With --guests, another kernel: a series as 6.12, or the version of its Debian package
    #[arg(long, value_name = "VERSION", requires = "guests")]
    pub kernel: Option<String>,
    /// With --guests, only these: names with commas between
    #[arg(long = "fs", value_name = "A,B", value_delimiter = ',', requires = "guests")]
    pub names: Vec<String>,
    /// Remove what outlived a run that was killed, and only that; from this folder of runs, too
    #[arg(
        long, value_name = "DIR", num_args = 0..=1, default_missing_value = "pickfs-runs",
        conflicts_with_all = ["device", "guests", "json", "ranks"],
    )]
    pub clean: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `pickfs features`.
#[derive(Debug, Clone, Args)]
pub struct FeaturesArgs {
    /// Candidates, fs[:mount options][;mkfs=options], or names with commas between; may be
    /// repeated (default: every file system that pickfs knows)
    #[arg(long = "fs", value_name = "A,B,C")]
    pub candidates: Vec<String>,
    /// Kernel to ask: this machine's (native, as root), a guest without root (qemu, qemu-kvm, qemu-tcg), or the first that
    /// can mount the candidate (auto)
    #[arg(long, value_name = "ENGINE", default_value = "auto", conflicts_with = "dirs")]
    pub engine: String,
    /// Kernel of the guests: a series as 6.12, or the version of its Debian package
    #[arg(long, value_name = "VERSION", conflicts_with = "dirs")]
    pub kernel: Option<String>,
    /// Every capability and every candidate, not only where they differ
    #[arg(long)]
    pub all: bool,
    /// Ask a directory that exists: nothing is made or mounted, no root; may be repeated
    #[arg(long = "dir", value_name = "DIR", conflicts_with_all = ["candidates", "image_dir", "size", "ram"])]
    pub dirs: Vec<PathBuf>,
    /// Loop image on a tmpfs
    #[arg(long, conflicts_with = "image_dir")]
    pub ram: bool,
    /// Folder for the loop image (default: this one)
    #[arg(long, value_name = "DIR")]
    pub image_dir: Option<PathBuf>,
    /// Size of the image
    #[arg(long, value_name = "BYTES", default_value = "384MiB")]
    pub size: String,
    /// Write the table as Markdown to a file
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the table as one offline page to a file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write all answers and facts as JSON to a file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `pickfs show`.
#[derive(Debug, Clone, Args)]
pub struct ShowArgs {
    /// A run: its file or its folder; or a folder of runs
    #[arg(default_value = "pickfs-runs")]
    pub run: PathBuf,
    /// One trial by its number, with steps, environment and operations
    #[arg(long, value_name = "N")]
    pub trial: Option<u32>,
    /// Every table of a run that is made of phases (column, files)
    #[arg(long, conflicts_with = "trial")]
    pub phases: bool,
    /// Everything: every table, all doubts, what is behind the answer and what cannot be told
    #[arg(long, conflicts_with_all = ["trial", "phases"])]
    pub doubts: bool,
    /// The runs of a folder as JSON
    #[arg(long, conflicts_with_all = ["trial", "phases", "doubts"])]
    pub json: bool,
}

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One offline page
    Html,
    /// For a pull request
    Markdown,
    /// One row per trial and operation, and a summary; for phases one row each
    Csv,
    /// Phases in the columns of KX Nano's throughput table, one file a candidate
    Psv,
    /// Phases of `files` as bonnie++ CSV 1.98, for bon_csv2html and bon_csv2txt
    Bonnie,
    /// HdrHistogram interval logs, one per trial and operation
    Hlog,
    /// Every chart as a picture
    Png,
    /// Every chart as a vector picture
    Svg,
    /// Run and findings
    Json,
    /// The run itself for others, in a tenth of its bytes and without what names this machine: PLAN.pickfs
    Run,
}

/// `pickfs report`.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// A run: its file or its folder
    pub run: PathBuf,
    /// Format; may be repeated
    #[arg(long, value_enum, default_value = "html")]
    pub format: Vec<Format>,
    /// Of the pictures only this chart, for example trials or percentiles; may be repeated
    #[arg(long, value_name = "CHART", value_parser = chart_name)]
    pub chart: Vec<ChartKind>,
    /// Folder to write to (default: the run's folder)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `pickfs compare`.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Runs, each its file or its folder, the one that is divided by first; a folder of runs stands for all of them,
    /// oldest first. Of one plan on several hosts: does the choice hold across them
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Instead of another run: a published table (kx-2025-rhel9, kx-2025-ubuntu, linux-2011-eighteen), a
    /// file of bonnie++ CSV lines (1.96 to 1.98), throughputs of KX Nano (FILESYSTEM.psv, or a folder of them),
    /// or `claims`: what five articles said
    #[arg(long, value_name = "TABLE|FILE|FOLDER|claims")]
    pub with: Option<String>,
    /// Of the claims only those of this article: 000 FIX engine, 001 journal, 002 column store,
    /// 003 kernel upgrade, 004 eighteen file systems; may be repeated
    #[arg(long, value_name = "NUMBER", requires = "with")]
    pub article: Vec<String>,
    /// For the claims, answers of `pickfs features --json FILE`
    #[arg(long, value_name = "FILE", requires = "with")]
    pub features: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Write the comparison with a table or with claims as Markdown to a file
    #[arg(long, value_name = "FILE", requires = "with")]
    pub markdown: Option<PathBuf>,
    /// Write the comparison with a table as a page to a file
    #[arg(long, value_name = "FILE", requires = "with")]
    pub html: Option<PathBuf>,
}

fn chart_name(name: &str) -> Result<ChartKind, String> {
    name.parse().map_err(|error: UnknownChart| error.to_string())
}

/// `pickfs serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Folder of runs
    #[arg(default_value = "pickfs-runs")]
    pub folder: PathBuf,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7433")]
    pub listen: SocketAddr,
    /// Readers must send this token: 16 or more letters, digits, - or _ (default: none on loopback, a
    /// random one elsewhere)
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
}

/// `pickfs man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Write pickfs.1 and a page of each command to this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the completion script of this shell
    #[arg(long, value_name = "SHELL", conflicts_with = "out")]
    pub completions: Option<clap_complete::Shell>,
}
