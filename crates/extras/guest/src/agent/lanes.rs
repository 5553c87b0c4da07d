use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread::JoinHandle,
};

use crate::message::{ENDED_WELL, FromGuest};
use pickfs_record::trial::WORKER;
use pickfs_sys::starting_gate::StartingGate;

use super::channel::Channel;

pub struct Lanes(Vec<Mutex<ChildStdin>>);

impl Lanes {
    pub fn none() -> Lanes {
        Lanes(Vec::new())
    }

    /// Starts them; each one's end is told by a thread of its own.
    pub fn start(count: u16, words: &[String], channel: &Channel) -> Result<Lanes, String> {
        let failed = |error: std::io::Error| format!("worker not started in the guest: {error}");
        let gate = match count {
            0 | 1 => None,
            _ => Some(StartingGate::create(u32::from(count)).map_err(failed)?),
        };
        let mut inputs = Vec::new();
        for lane in 0..count {
            let mut command = Command::new("/proc/self/exe");
            command.arg(WORKER).args(words);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(gate) = &gate {
                gate.hand_to(&mut command);
            }
            let mut child = command.spawn().map_err(failed)?;
            inputs.push(Mutex::new(child.stdin.take().expect("standard input is piped")));
            follow(child, lane, channel.clone());
        }
        Ok(Lanes(inputs))
    }

    /// One that is gone has told its end.
    pub fn say(&self, lane: u16, line: &str) {
        if let Some(input) = self.0.get(usize::from(lane)) {
            let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        }
    }
}

fn follow(mut child: Child, lane: u16, channel: Channel) {
    let words = child.stdout.take().expect("standard output is piped");
    let errors = child.stderr.take().expect("standard error is piped");
    let words = pass_lines(words, channel.clone(), move |line| FromGuest::Said { lane, line });
    let errors =
        pass_lines(errors, channel.clone(), move |line| FromGuest::Complained { lane, line });
    std::thread::spawn(move || {
        let ended = child.wait();
        // Its last words come before the news of its end.
        let _ = (words.join(), errors.join());
        let how = ended.map_or_else(|error| error.to_string(), how);
        channel.tell(&FromGuest::LaneEnded { lane, how });
    });
}

fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(0)) => ENDED_WELL.into(),
        (None, Some(code)) => format!("exit code {code}"),
        _ => "an unknown cause".into(),
    }
}

fn pass_lines(
    stream: impl Read + Send + 'static,
    channel: Channel,
    message: impl Fn(String) -> FromGuest + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.for_each(|line| channel.tell(&message(line)));
    })
}
