//! The client and the primary: one message each arrival, and what is due already goes with it.
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

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pickfs_pair::{Error, Primary, PrimaryOptions, read_store};
use pickfs_record::{Clock, OpIndex};
use pickfs_workload::bench::Bench;
use pickfs_workload::drive::{Due, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::param::Resolved;
use pickfs_workload::workload::Session;

use crate::followers::{Followers, TIMEOUT, Terms, fault, primary_dir};
use crate::hosts;
use crate::pair::params;
use crate::pair::ready::Side;
use crate::pattern::Pattern;

const BATCH_MAX: usize = 256;
/// An acknowledgement that does not come in this time never will.
const SAFE_WITHIN_NS: u64 = 20_000_000_000;

/// Where each operation has its operations; one that is not measured has none.
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
struct Done {
    messages: u64,
    batches: u64,
    batch_max: u64,
    sent_late: u64,
}

pub(super) struct Gating {
    primary: Primary,
    client: Option<Client>,
    pattern: Pattern,
    payload: Vec<u8>,
    places: Places,
    /// Arrivals whose messages were taken and are not safe.
    open: Vec<Due>,
    is_ready: bool,
    next_number: u64,
    bytes_written: u64,
    is_degree_none: bool,
    /// What business logic has come to: it must see each message once, in order.
    logic: u64,
    done: Done,
    /// Behind the primary, so that it ends first.
    followers: Followers,
    dir: PathBuf,
}

impl Gating {
    pub(super) fn start(session: &Session) -> Result<Self, Fault> {
        let params = &session.params;
        let terms = Terms { home: hosts::home(params)?, ..params::terms(session) };
        let followers = Followers::start(session, &terms, params::secondaries(params))?;
        let dir = terms.dir;
        let primary = Primary::open(PrimaryOptions {
            store: params::store(params, true),
            degree: params::degree(params),
            copies: params.integer("copies") as usize,
            timeout: TIMEOUT,
            waiting: params::waiting(params),
            transport: terms.transport,
            identity: followers.identity(),
            ..PrimaryOptions::new(primary_dir(&dir), followers.addresses())
        });
        let mut primary = primary.map_err(fault)?;
        let payload_bytes = params.integer("size") as usize;
        let has_client = params.text("client") == "socket";
        let client = has_client.then(|| Client::new(payload_bytes)).transpose()?;
        primary.wait_ready(TIMEOUT).map_err(fault)?;
        Ok(Gating {
            is_degree_none: primary.degree() == pickfs_pair::Degree::None,
            primary,
            client,
            pattern: params::pattern(session),
            payload: vec![0; payload_bytes],
            places: Places::of(params),
            open: Vec::with_capacity(BATCH_MAX),
            is_ready: false,
            next_number: 1,
            bytes_written: 0,
            logic: 0,
            done: Done::default(),
            followers,
            dir,
        })
    }

    fn sent(&self) -> u64 {
        self.next_number - 1
    }

    #[inline]
    fn take(&mut self, arrival: &Due) -> Result<(), Fault> {
        let request = match &mut self.client {
            Some(client) => client.ask(&self.payload)?,
            None => &self.payload,
        };
        self.primary.append(request).map_err(fault)?;
        self.is_ready = false;
        self.next_number += 1;
        self.bytes_written += self.payload.len() as u64;
        self.done.messages += 1;
        self.done.sent_late += crate::late(arrival);
        self.open.push(*arrival);
        Ok(())
    }

    #[inline]
    fn pass_gate<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        let last = self.sent();
        let start_ns = clock.now_ns();
        self.primary.send();
        let sent_ns = clock.now_ns();
        self.primary.keep().map_err(fault)?;
        bench.operation_alone(self.places.journal, sent_ns, clock.now_ns(), 0);
        let mut is_copied = false;
        loop {
            let safe = self.primary.hear().map_err(fault)?;
            let now_ns = clock.now_ns();
            match self.places.wire {
                Some(wire) if !is_copied && self.primary.copied() >= last => {
                    is_copied = true;
                    bench.operation_alone(wire, start_ns, now_ns, 0);
                }
                _ => {}
            }
            if safe >= last {
                bench.operation_alone(self.places.gate, start_ns, now_ns, 0);
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
            let arrival = self.open[at];
            self.logic = self.logic.rotate_left(7) ^ (first + at as u64);
            end_ns = clock.now_ns();
            bench.operation_of(self.places.processed, &arrival, end_ns, 0);
            if let (Some(client), Some(replied)) = (&mut self.client, self.places.replied) {
                client.answer(self.logic)?;
                end_ns = clock.now_ns();
                bench.operation_of(replied, &arrival, end_ns, 0);
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

impl Side for Gating {
    fn begin(&mut self) {
        self.done = Done::default();
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Done { messages, batches, batch_max, sent_late } = self.done;
        vec![
            ("messages", messages),
            ("batches", batches),
            ("batch_max", batch_max),
            ("sent_late", sent_late),
        ]
    }

    fn verify(&mut self) -> Result<u64, Fault> {
        self.primary.poll().map_err(fault)?;
        let there = self.followers.compared_there(self.sent())?;
        let mut nodes = vec![primary_dir(&self.dir)];
        nodes.extend(self.followers.end()?);
        let here = nodes.iter().map(|node| verify(node, &self.pattern, self.sent()));
        Ok(here.sum::<Result<u64, Fault>>()? + there)
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
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.take(arrival)?;
        let taken_ns = clock.now_ns();
        let is_next_due = arrival.next_due_ns.is_some_and(|due_ns| due_ns <= taken_ns);
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

// A request is written at one end and read at the other; the answer goes the other way.

struct Client {
    theirs: TcpStream,
    ours: TcpStream,
    request: Vec<u8>,
}

fn lost(error: std::io::Error) -> Fault {
    Fault::Failed { reason: format!("the client's connection on loopback: {error}") }
}

impl Client {
    fn new(request_bytes: usize) -> Result<Client, Fault> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(lost)?;
        let address = listener.local_addr().map_err(lost)?;
        let theirs = TcpStream::connect(address).map_err(lost)?;
        let (ours, _) = listener.accept().map_err(lost)?;
        for end in [&theirs, &ours] {
            end.set_nodelay(true).map_err(lost)?;
        }
        Ok(Client { theirs, ours, request: vec![0; request_bytes] })
    }

    #[inline]
    fn ask(&mut self, payload: &[u8]) -> Result<&[u8], Fault> {
        self.theirs.write_all(payload).map_err(lost)?;
        self.ours.read_exact(&mut self.request).map_err(lost)?;
        Ok(&self.request)
    }

    #[inline]
    fn answer(&mut self, word: u64) -> Result<u64, Fault> {
        let mut answer = word.to_le_bytes();
        self.ours.write_all(&answer).map_err(lost)?;
        self.theirs.read_exact(&mut answer).map_err(lost)?;
        Ok(u64::from_le_bytes(answer))
    }
}

pub(super) fn verify(node: &Path, pattern: &Pattern, sent: u64) -> Result<u64, Fault> {
    let mut last = 0;
    let mut wrong = None;
    read_store(&node.join("store"), 1, |at, payload| {
        last += 1;
        if at.sequence == last && pattern.is_of(payload, last) {
            return ControlFlow::Continue(());
        }
        wrong = Some(at.sequence);
        ControlFlow::Break(())
    })
    .map_err(fault)?;
    let node = node.display();
    if let Some(sequence) = wrong {
        let what = format!("message {sequence} of {node} is not what was sent");
        return Err(Fault::Wrong { what });
    }
    if last != sent {
        let what = format!("the last message of {node} is {last}, and {sent} were sent");
        return Err(Fault::Wrong { what });
    }
    Ok(last)
}
