use std::time::{Duration, Instant};

use pickfs_pair::wire::ACK_BYTES;
use pickfs_record::{Clock, OpIndex};
use pickfs_workload::{
    bench::Bench,
    drive::{Turn, Work},
    fault::Fault,
};

use crate::{
    pair::{echo::End, params::HEAD_BYTES},
    pattern::Pattern,
};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Pinging {
    end: End,
    pattern: Pattern,
    frame: Vec<u8>,
    answer: [u8; ACK_BYTES],
    number: u64,
    bytes_written: u64,
}

impl Pinging {
    pub(super) fn new(end: End, frame_bytes: usize, seed: u64) -> Self {
        Pinging {
            end,
            pattern: Pattern::new(frame_bytes, HEAD_BYTES, seed),
            frame: vec![0; frame_bytes],
            answer: [0; ACK_BYTES],
            number: 0,
            bytes_written: 0,
        }
    }

    pub(super) fn answered(&self) -> u64 {
        self.number
    }
}

fn lost(error: impl ToString) -> Fault {
    Fault::Failed { reason: format!("the ping-pong: {}", error.to_string()) }
}

impl Work for Pinging {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        self.pattern.fill(&mut self.frame, self.number + 1);
        Ok(())
    }

    #[inline]
    fn turn<C: Clock>(&mut self, clock: &C, turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        self.end.send(&self.frame).map_err(lost)?;
        let began = Instant::now();
        let is_late = || began.elapsed() > ANSWER_WITHIN;
        if !self.end.take(&mut self.answer, is_late).map_err(lost)? {
            return Err(lost("no answer came"));
        }
        let end_ns = clock.now_ns();
        bench.lap(OpIndex(0), turn.start_ns, end_ns, 0);
        if self.answer != self.frame[..ACK_BYTES] {
            return Err(Fault::Wrong { what: "an answer is not of its request".into() });
        }
        self.number += 1;
        self.bytes_written += self.frame.len() as u64;
        Ok(end_ns)
    }

    fn bytes_written(&self) -> u64 {
        self.bytes_written
    }
}
