use std::{
    collections::VecDeque,
    io::Read,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

/// This much of an output is kept from its beginning.
const HEAD_BYTES: usize = 8 << 20;
const TAIL_BYTES: usize = 64 << 10;
/// How long a pipe is read on when its program has ended: somebody else may hold it open.
const LINGER: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out_bytes: u64,
}

impl Output {
    fn take(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        self.left_out_bytes += over as u64;
    }

    pub(crate) fn text(&self) -> String {
        let mut bytes = self.head.clone();
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Bytes of the middle that were not kept.
    pub(crate) fn left_out_bytes(&self) -> u64 {
        self.left_out_bytes
    }
}

pub(super) struct Listening {
    output: Arc<Mutex<Output>>,
    ended: Receiver<()>,
}

impl Listening {
    pub(super) fn to(mut pipe: impl Read + Send + 'static) -> Listening {
        let output = Arc::new(Mutex::new(Output::default()));
        let (sender, ended) = channel();
        let kept = Arc::clone(&output);
        thread::spawn(move || {
            let mut piece = vec![0; 64 << 10];
            while let Ok(read @ 1..) = pipe.read(&mut piece) {
                locked(&kept).take(&piece[..read]);
            }
            let _ = sender.send(());
        });
        Listening { output, ended }
    }

    /// Everything until the end of the pipe, or for a moment where somebody else holds it open.
    pub(super) fn finish(self) -> Output {
        let _ = self.ended.recv_timeout(LINGER);
        std::mem::take(&mut *locked(&self.output))
    }
}

fn locked(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

const LINES: usize = 6;

/// The last lines of what a program said, in one line.
pub(crate) fn end_of(said: &[&Output]) -> String {
    let texts: Vec<String> = said.iter().map(|output| output.text()).collect();
    let lines: Vec<&str> = texts
        .iter()
        .flat_map(|text| text.lines())
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    let text: String = last.join(" | ");
    let over = text.chars().count().saturating_sub(600);
    text.chars().skip(over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_very_long_output_is_left_out() {
        let mut output = Output::default();
        let piece = vec![b'a'; 1 << 20];
        (0..10).for_each(|_| output.take(&piece));
        output.take(b"the end");
        assert_eq!(output.text().len(), HEAD_BYTES + TAIL_BYTES);
        assert!(output.text().ends_with("the end"));
        assert_eq!(output.left_out_bytes(), (2 << 20) + 7 - TAIL_BYTES as u64);
    }

    #[test]
    fn a_failure_is_told_with_the_last_lines() {
        let mut said = Output::default();
        said.take(b"one\n\ntwo\nthree\nfour\nfive\nsix\nseven\n");
        assert_eq!(end_of(&[&said]), "two | three | four | five | six | seven");
        assert_eq!(end_of(&[&Output::default()]), "");
    }

    #[test]
    fn a_pipe_that_somebody_holds_open_is_not_waited_for() {
        let (reader, writer) = pickfs_sys::program::pipe().unwrap();
        use std::io::Write;
        (&writer).write_all(b"hello").unwrap();
        assert_eq!(Listening::to(reader).finish().text(), "hello");
        drop(writer);
    }
}
