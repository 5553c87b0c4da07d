//! The end of a line that is on the host: it runs what it is asked to, and ends when nobody hears it any more.

use std::{
    fs::File,
    io::{self, BufRead, Read, Write},
    os::fd::AsFd,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use pickfs_lab::{interrupt::Interrupt, sink::Sink};
use pickfs_record::{Event, Plan};
use pickfs_workload::BUILD;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    error::FleetError,
    spoken::{LINE_BYTES_MAX, Request, Said},
};

/// After so long without a beat nobody is there.
const SILENCE: Duration = Duration::from_secs(60);
/// A run that was interrupted has so long to end in order and to send its file.
const END: Duration = Duration::from_secs(60);
/// The exit code of a program that was stopped on request.
const STOPPED: i32 = 130;

/// What speaks on the line.
#[derive(Clone)]
pub struct Voice(Arc<Mutex<Box<dyn Write + Send>>>);

impl Voice {
    pub fn new(out: impl Write + Send + 'static) -> Voice {
        Voice(Arc::new(Mutex::new(Box::new(out))))
    }

    /// A line that is gone is noticed by who listens, [`Voice::watch`].
    fn say(&self, said: &Said) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = out.write_all(&said.line()).and_then(|()| out.flush());
    }

    /// The plan that is to be run.
    pub fn asked(&self, input: impl BufRead) -> Result<Plan, FleetError> {
        self.say(&Said::Hello { build: BUILD.into() });
        let mut line = Vec::new();
        let read = input.take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        read.map_err(|why| FleetError::Request(why.to_string()))?;
        let request: Request =
            serde_json::from_slice(&line).map_err(|why| FleetError::Request(why.to_string()))?;
        match request.build == BUILD {
            true => Ok(request.plan),
            false => Err(FleetError::Build { asked: request.build, own: BUILD }),
        }
    }

    /// A run's own file, as it lies there.
    pub fn send(&self, path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&Said::File { bytes }.line())?;
        io::copy(&mut file.take(bytes), &mut *out)?;
        out.flush()
    }

    /// Raises the interrupt when the line is gone, and ends the program where that does not.
    pub fn watch(&self, interrupt: &Interrupt) {
        let (voice, interrupt) = (self.clone(), interrupt.clone());
        thread::spawn(move || {
            voice.listen(io::stdin(), SILENCE);
            interrupt.raise();
            thread::sleep(END);
            std::process::exit(STOPPED);
        });
    }

    /// Answers beats, until the line is closed or nothing was heard for so long.
    fn listen(&self, mut input: impl Read + AsFd, silence: Duration) {
        let longest =
            Timespec { tv_sec: silence.as_secs() as i64, tv_nsec: silence.subsec_nanos().into() };
        let mut heard = [0; 512];
        loop {
            let mut ends = [PollFd::new(&input, PollFlags::IN)];
            match poll(&mut ends, Some(&longest)) {
                Ok(0) => return,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) => {}
            }
            match input.read(&mut heard) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            // A file on its way says enough, and may be stuck.
            if let Ok(mut out) = self.0.try_lock() {
                let _ = out.write_all(&Said::Beat.line()).and_then(|()| out.flush());
            }
        }
    }
}

/// Only what comes once a trial: while one measures, nothing is said but an answer to each beat.
impl Sink for Voice {
    fn accept(&mut self, event: &Event) {
        if !matches!(event, Event::TrialProgress { .. } | Event::Preparing { .. }) {
            self.say(&Said::Event(Box::new(event.clone())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, PATIENCE, fake_run, until};
    use std::os::unix::net::UnixStream;

    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<u8>>>);

    impl Write for Heard {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("ours").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Heard {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("ours").clone()).expect("text")
        }
    }

    #[test]
    fn a_host_says_its_build_takes_no_plan_of_another_one_and_is_silent_while_it_measures() {
        let plan = fake_run(&FakeRun::default()).plan;
        let request = |build: &str| {
            let request = Request { build: build.into(), plan: plan.clone() };
            format!("{}\n\n\n", serde_json::to_string(&request).expect("JSON"))
        };
        let heard = Heard::default();
        let mut voice = Voice::new(heard.clone());
        assert_eq!(voice.asked(request(BUILD).as_bytes()).expect("a plan"), plan);
        let hello = format!("{{\"hello\":{{\"build\":\"{BUILD}\"}}}}\n");
        assert_eq!(heard.text(), hello);
        let (number, phase) = (1, "measure".to_owned());
        voice.accept(&Event::TrialProgress { number, phase, operations: 1, max_ns: 1 });
        assert_eq!(heard.text(), hello);
        voice.accept(&Event::Noticed { text: "x".into() });
        let noticed = "{\"event\":{\"event\":\"noticed\",\"text\":\"x\"}}\n";
        assert_eq!(heard.text(), format!("{hello}{noticed}"));
        for (words, part) in [(request("0.1+old"), "asked by build 0.1+old"), ("{\n".into(), "EOF")]
        {
            let refused = voice.asked(words.as_bytes()).expect_err("refused").to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn beats_are_answered_and_a_line_that_closes_or_says_nothing_is_over() {
        let (reader, mut writer) = UnixStream::pair().expect("a pair");
        let heard = Heard::default();
        let voice = Voice::new(heard.clone());
        let listening = thread::spawn(move || voice.listen(reader, PATIENCE));
        writer.write_all(b"\n").expect("a pair");
        until("a beat", || (heard.text() == "\"beat\"\n").then_some(()));
        assert!(!listening.is_finished(), "it listens on");
        drop(writer);
        until("its end with the line", || listening.is_finished().then_some(()));
        let (reader, _open) = UnixStream::pair().expect("a pair");
        Voice::new(heard).listen(reader, Duration::from_millis(20));
    }
}
