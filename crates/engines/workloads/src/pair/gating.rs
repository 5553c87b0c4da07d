//! The client and the primary: one message each turn, and what is due already goes with it.
//!
//! ```text
//! due   taken   sent      kept                acknowledged
//!  |------|------|---------|--------------------|--------|--------|
//!         request  journal                      | logic  | answer |
//!                |---------------- wire --------|                 |
//!                |---------------- gate --------|                 |
//!  |------------- processed -----------------------------|        |
//!  |------------- replied --------------------------------------->|
//! ```

use std::time::Duration;

use pickfs_pair::{Error, Primary};
use pickfs_record::{Clock, OpIndex};
use pickfs_workload::{
    bench::Bench,
    drive::{Turn, Work},
    fault::Fault,
    param::Resolved,
};

use crate::{
    followers::fault,
    pair::{client::Client, params},
    pattern::Pattern,
};

const BATCH_MAX: usize = 256;
/// An acknowledgement that does not come in this time never will.
const SAFE_WITHIN_NS: u64 = 20_000_000_000;
/// A turn that began this long after it was due was sent late.
const LATE_NS: u64 = 1_000;

/// Where each operation has its laps; one that is not measured has none.
#[derive(Debug, Clone, Copy)]
struct Places {
    journal: OpIndex,
    gate: OpIndex,
    processed: OpIndex,
    wire: Option<OpIndex>,
    replied: Option<OpIndex>,
}

impl Places {
    fn of(params: &Resolved) -> Places {
        let ops = params::ops(params);
        let place = |name: &str| ops.iter().position(|op| *op == name).map(OpIndex);
        let always = |name: &str| place(name).unwrap_or(OpIndex(0));
        Places {
            journal: always(params::JOURNAL),
            gate: always(params::GATE),
            processed: always(params::PROCESSED),
            wire: place(params::WIRE),
            replied: place(params::REPLIED),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    pub(super) messages: u64,
    pub(super) batches: u64,
    pub(super) batch_max: u64,
    pub(super) sent_late: u64,
}

pub(super) struct Gating {
    pub(super) primary: Primary,
    client: Option<Client>,
    pub(super) pattern: Pattern,
    payload: Vec<u8>,
    places: Places,
    /// Turns whose messages were taken and are not safe.
    open: Vec<Turn>,
    is_ready: bool,
    next_number: u64,
    bytes_written: u64,
    is_degree_none: bool,
    /// What business logic has come to: it must see each message once, in order.
    logic: u64,
    pub(super) done: Done,
}

impl Gating {
    pub(super) fn new(
        primary: Primary,
        client: Option<Client>,
        params: &Resolved,
        seed: u64,
    ) -> Self {
        let payload_bytes = params.integer("size") as usize;
        Gating {
            is_degree_none: primary.degree() == pickfs_pair::Degree::None,
            primary,
            client,
            pattern: Pattern::new(payload_bytes, params::HEAD_BYTES, seed),
            payload: vec![0; payload_bytes],
            places: Places::of(params),
            open: Vec::with_capacity(BATCH_MAX),
            is_ready: false,
            next_number: 1,
            bytes_written: 0,
            logic: 0,
            done: Done::default(),
        }
    }

    pub(super) fn sent(&self) -> u64 {
        self.next_number - 1
    }

    /// Waits until the secondaries follow.
    pub(super) fn wait_ready(&mut self) -> Result<(), Fault> {
        self.primary.wait_ready(Duration::from_secs(10)).map_err(fault)
    }

    #[inline]
    fn take(&mut self, turn: &Turn) -> Result<(), Fault> {
        let request = match &mut self.client {
            Some(client) => client.ask(&self.payload)?,
            None => &self.payload,
        };
        self.primary.append(request).map_err(fault)?;
        self.is_ready = false;
        self.next_number += 1;
        self.bytes_written += self.payload.len() as u64;
        self.done.messages += 1;
        self.done.sent_late += u64::from(turn.start_ns - turn.due_ns > LATE_NS);
        self.open.push(*turn);
        Ok(())
    }

    #[inline]
    fn pass_gate<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        let last = self.sent();
        let start_ns = clock.now_ns();
        self.primary.send();
        let sent_ns = clock.now_ns();
        self.primary.keep().map_err(fault)?;
        bench.lap_alone(self.places.journal, sent_ns, clock.now_ns(), 0);
        let mut is_copied = false;
        loop {
            let safe = self.primary.hear().map_err(fault)?;
            let now_ns = clock.now_ns();
            match self.places.wire {
                Some(wire) if !is_copied && self.primary.copied() >= last => {
                    is_copied = true;
                    bench.lap_alone(wire, start_ns, now_ns, 0);
                }
                _ => {}
            }
            if safe >= last {
                bench.lap_alone(self.places.gate, start_ns, now_ns, 0);
                return Ok(now_ns);
            }
            if now_ns - start_ns > SAFE_WITHIN_NS {
                let waited_ms = u128::from(SAFE_WITHIN_NS / 1_000_000);
                return Err(fault(Error::NotSafe { sequence: last, waited_ms }));
            }
            // Sends what did not fit at once.
            self.primary.send();
            self.primary.pause().map_err(fault)?;
        }
    }

    #[inline]
    fn process<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        let mut end_ns = 0;
        let first = self.next_number - self.open.len() as u64;
        for at in 0..self.open.len() {
            let turn = self.open[at];
            self.logic = self.logic.rotate_left(7) ^ (first + at as u64);
            end_ns = clock.now_ns();
            bench.lap_of(self.places.processed, &turn, end_ns, 0);
            if let (Some(client), Some(replied)) = (&mut self.client, self.places.replied) {
                client.answer(self.logic)?;
                end_ns = clock.now_ns();
                bench.lap_of(replied, &turn, end_ns, 0);
            }
        }
        self.done.batches += 1;
        self.done.batch_max = self.done.batch_max.max(self.open.len() as u64);
        self.open.clear();
        Ok(end_ns)
    }

    /// Answers the batch; where nothing is waited for, the store and the wire come behind the answer.
    #[inline]
    fn answer<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        if self.is_degree_none {
            let end_ns = self.process(clock, bench)?;
            self.pass_gate(clock, bench)?;
            return Ok(end_ns);
        }
        self.pass_gate(clock, bench)?;
        self.process(clock, bench)
    }
}

impl Work for Gating {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        if !self.is_ready {
            self.pattern.fill(&mut self.payload, self.next_number);
            self.is_ready = true;
            // Signs of life, and news of the secondaries.
            self.primary.hear().map_err(fault)?;
        }
        Ok(())
    }

    #[inline]
    fn turn<C: Clock>(&mut self, clock: &C, turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        self.take(turn)?;
        let taken_ns = clock.now_ns();
        let is_next_due = turn.next_due_ns.is_some_and(|due_ns| due_ns <= taken_ns);
        if is_next_due && self.open.len() < BATCH_MAX {
            return Ok(taken_ns);
        }
        self.answer(clock, bench)
    }

    fn settle<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        if !self.open.is_empty() {
            self.answer(clock, bench)?;
        }
        self.primary.poll().map_err(fault)?;
        Ok(clock.now_ns())
    }

    fn bytes_written(&self) -> u64 {
        self.bytes_written
    }
}
