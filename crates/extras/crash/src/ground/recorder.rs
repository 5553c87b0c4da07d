//! The recorder is a process of its own, `pickfs worker crash-disk`: it must not be one that touches what is mounted on
//! its disk. It is told a task and then an order a line, and says an answer a line.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering::SeqCst},
    time::Duration,
};

use fuser::{Config, MountOption};
use pickfs_guest::message::receive;
pub(super) use pickfs_guest::message::send as say;
use pickfs_record::trial::WORKER;
use pickfs_sys::{
    ended::ended_within,
    mount,
    shared_memory::{Kind, Shared},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    error::GroundError,
    served::{NAME, Served},
    store::Store,
};
use crate::{
    image::Pages,
    log::{Log, Position, Remains},
    log_writes,
};

const WORD: &str = "crash-disk";
/// What a disk holds before anything was written: what it shows later is foreign, and no zeros.
const FILL: u8 = 0xa5;

/// Of one that was asked to end, or killed while it saves a recording.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// One word: how many entries the log has.
#[derive(Debug)]
pub struct Positions;

impl Kind for Positions {
    const VARIABLE: &'static str = "PICKFS_CRASH_POSITIONS";
    const WORDS: usize = 1;
}

/// The states of a recording that was saved, of so many bytes at least; else so many on which nothing is.
pub type Source = (Option<PathBuf>, u64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Ends the recording; from now on the disk is what is served. Nothing may be mounted.
    Replay,
    Serve(Remains),
    /// The recording, into a file that is not there yet.
    SaveLog(PathBuf),
    /// Nothing may be mounted on the disk any more, and no loop device stand on it.
    End,
}

type Answer = Result<(), String>;

/// `None` where this process was started for something else than `pickfs worker WORD`.
pub(super) fn run_as(
    word: &str,
    serve: fn(&mut io::StdinLock<'static>, &mut io::StdoutLock<'static>) -> io::Result<()>,
) -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == WORKER && words.next()? == word).then(|| {
        let done = serve(&mut io::stdin().lock(), &mut io::stdout().lock());
        if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    })
}

pub(crate) fn run() -> Option<ExitCode> {
    run_as(WORD, serve)
}

fn serve(orders: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let Some((folder, source)) = heard::<(PathBuf, Source)>(orders)? else { return Ok(()) };
    let positions = Shared::inherited()?;
    let positions = positions.ok_or_else(|| io::Error::other("no positions were handed over"))?;
    let store = match source {
        (None, bytes) => Store::of(Log::of(bytes, FILL, []), false),
        (Some(path), least) => match recording(&path, least) {
            Ok(log) => Store::of(log, true),
            Err(refused) => return say(&Answer::Err(refused), to),
        },
    };
    let served = Served::of(store, positions);
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("pickfs-crash".into())];
    let session = match fuser::spawn_mount(served.clone(), &folder, &config) {
        Ok(session) => session,
        Err(error) => {
            let words = format!("no FUSE mount on {}: {error}", folder.display());
            return say(&Answer::Err(words), to);
        }
    };
    say(&Answer::Ok(()), to)?;
    while let Some(order) = heard::<Order>(orders)? {
        if order == Order::End {
            let ended = session.umount_and_join();
            return say(&ended.map_err(|error| error.to_string()), to);
        }
        say(&obey(order, &served), to)?;
    }
    // Who gave orders is gone. With this process goes the session, so that whoever waits for the disk is freed.
    std::process::exit(1)
}

fn obey(order: Order, served: &Served) -> Answer {
    let mut store = served.store();
    match order {
        Order::Replay => store.is_replay = true,
        Order::Serve(state) => store.serve(&state)?,
        Order::SaveLog(path) => save_log(&store.log, &path)?,
        Order::End => {}
    }
    Ok(())
}

/// Into a file that is not there yet.
pub(crate) fn save_log(log: &Log, path: &Path) -> Answer {
    let file = File::create_new(path).map(|file| BufWriter::with_capacity(1 << 20, file));
    let written = file.and_then(|mut file| log_writes::write(log, &mut file));
    written.map_err(|error| format!("{} not written: {error}", path.display()))
}

/// Zeros are holes.
pub(crate) fn save_image(image: &Pages, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    const PIECE: u64 = 1 << 16;
    let file = File::create_new(path)?;
    file.set_len(image.bytes())?;
    let mut piece = vec![0; PIECE as usize];
    for from in (0..image.bytes()).step_by(PIECE as usize) {
        let piece = &mut piece[..(image.bytes() - from).min(PIECE) as usize];
        image.read(from, piece);
        if piece.iter().any(|&byte| byte != 0) {
            file.write_all_at(piece, from)?;
        }
    }
    Ok(())
}

/// Opened: anything else might wait for ever.
pub(crate) fn plain_file(path: &Path) -> io::Result<File> {
    match path.metadata()?.is_file() {
        true => File::open(path),
        false => Err(io::Error::other("no plain file")),
    }
}

/// As it was saved here, or by others, who do not say how large the disk was.
pub fn recording(path: &Path, least_bytes: u64) -> Result<Log, String> {
    let unread = |error: String| format!("{}: {error}", path.display());
    let file = plain_file(path).map_err(|error| unread(error.to_string()))?;
    let mut file = BufReader::with_capacity(1 << 20, file);
    let read = log_writes::read(&mut file, log_writes::LIMITS);
    let mut log = read.map_err(|error| unread(error.to_string()))?;
    log.bytes = log.bytes.max(least_bytes);
    Ok(log)
}

pub(super) fn heard<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    receive(from).transpose().map_err(io::Error::other)
}

/// The recorder as seen by who gives it orders. Dropping ends it, whatever waits for its disk.
#[derive(Debug)]
pub struct Recorder {
    child: Arc<Mutex<Child>>,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    positions: Shared<Positions>,
    folder: PathBuf,
    connection: u64,
}

impl Recorder {
    /// Served as one file in this folder.
    pub fn start(program: &Path, folder: &Path, source: Source) -> Result<Self, GroundError> {
        use GroundError::Start;
        let positions = Shared::<Positions>::zeros().map_err(Start)?;
        let mut command = Command::new(program);
        command.args([WORKER, WORD]).stdin(Stdio::piped()).stdout(Stdio::piped());
        positions.hand_to(&mut command);
        let mut child = command.spawn().map_err(Start)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, answers) = pipes.expect("both are piped");
        let (child, answers) = (Arc::new(Mutex::new(child)), BufReader::new(answers));
        let folder = folder.to_owned();
        let mut recorder = Self { child, orders, answers, positions, folder, connection: 0 };
        let task = (recorder.folder.clone(), source);
        recorder.order(&task)?;
        // The root's attributes come from the mount, and its number from the kernel.
        let root = recorder.folder.metadata().map_err(Start)?;
        recorder.connection = root.dev() & 0xff | root.dev() >> 12 & 0xfff00;
        Ok(recorder)
    }

    pub fn disk(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// How many entries the log has, read from memory that is shared: a workload may ask after each acknowledgement.
    pub fn position(&self) -> Position {
        Position(self.positions.word(0).load(SeqCst) as usize)
    }

    /// After it everything that waits for the disk gets an error, and the recorder is gone.
    pub fn breaker(&self) -> Breaker {
        Breaker { child: Arc::clone(&self.child), connection: self.connection }
    }

    /// In order.
    pub fn end(&mut self) -> Result<(), GroundError> {
        self.order(&Order::End)?;
        // The number of its session may be another's from now on.
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match ended_within(&child, ENDS_WITHIN) {
            Some(_) => child.wait().map(drop).map_err(GroundError::Gone),
            None => Err(GroundError::Recorder(format!("no end within {ENDS_WITHIN:?}"))),
        }
    }

    /// An [`Order`], or first of all its task.
    pub fn order(&mut self, words: &impl Serialize) -> Result<(), GroundError> {
        use GroundError::Gone;
        let gone = || Gone(io::ErrorKind::BrokenPipe.into());
        say(words, &mut self.orders).map_err(Gone)?;
        let answer = heard::<Answer>(&mut self.answers).map_err(Gone)?.ok_or_else(gone)?;
        answer.map_err(GroundError::Recorder)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.breaker().free();
        // What is left of the mount serves nobody; where it was ended in order, nothing is.
        let _ = mount::unmount(&self.folder);
    }
}

/// Ends a recorder from another thread: whoever is stuck in its disk is stuck in the kernel.
#[derive(Debug, Clone)]
pub struct Breaker {
    child: Arc<Mutex<Child>>,
    connection: u64,
}

impl Breaker {
    pub fn free(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(child.try_wait(), Ok(None)) {
            // The kernel's own way out of a session that does not answer, where it is mounted; the end of the process
            // is the other.
            let abort = format!("/sys/fs/fuse/connections/{}/abort", self.connection);
            let _ = std::fs::write(abort, "1");
            let _ = child.kill();
            ended_within(&child, ENDS_WITHIN);
            let _ = child.try_wait();
        }
    }
}
