//! A program that a test has started, and all that it has said. It dies with the test.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use crate::until;

pub struct Program {
    pub child: Child,
    said: Arc<Mutex<String>>,
    hearing: Vec<JoinHandle<()>>,
}

impl Program {
    /// Both of its streams are heard, in whole lines; its input is a pipe.
    pub fn start(command: &mut Command) -> Program {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a program that can be started");
        let said = Arc::<Mutex<String>>::default();
        let out = child.stdout.take().map(|out| hear(out, &said));
        let err = child.stderr.take().map(|err| hear(err, &said));
        Program { child, said, hearing: out.into_iter().chain(err).collect() }
    }

    pub fn said(&self) -> MutexGuard<'_, String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it has said the words; gives what stands behind them in their line.
    #[track_caller]
    pub fn until(&self, words: &str) -> String {
        self.until_said(words, |said| Some(said.split_once(words)?.1.lines().next()?.into()))
    }

    #[track_caller]
    pub fn until_said<T>(&self, step: &str, mut look: impl FnMut(&str) -> Option<T>) -> T {
        until(step, || {
            let is_over = self.hearing.iter().all(JoinHandle::is_finished);
            let found = look(&self.said());
            assert!(!is_over || found.is_some(), "it ended without `{step}`:\n{}", self.said());
            found
        })
    }

    /// What it had said before is heard.
    pub fn kill(&mut self) {
        self.child.kill().expect("our child");
        self.end();
    }

    /// Waits for its end; whether it succeeded.
    pub fn end(&mut self) -> bool {
        let status = self.child.wait().expect("our child");
        self.hearing.drain(..).for_each(|hearing| hearing.join().expect("no panic"));
        status.success()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hear(stream: impl Read + Send + 'static, said: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let said = Arc::clone(said);
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(&line);
            said.push('\n');
        }
    })
}
