use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::thread;
use std::time::{Duration, Instant};

use pickfs_fix::codec::{Message, tag, uint};
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::market::Limits;
use pickfs_fix::store::{
    Entry, EntryKind, LogStore, MemoryLog, PairLog, Profile, Store, StoreError,
};
use pickfs_fix::{Acceptor, Wait, now};
use pickfs_pair::{Primary, PrimaryOptions, Waiting, read_store};
use pickfs_queue as queue;
use pickfs_record::TrialSpec;
use pickfs_workload::arrival::{self, Schedule};
use pickfs_workload::drive::Span;
use pickfs_workload::fault::Fault;
use pickfs_workload::measurement::{Measured, Measurement};
use pickfs_workload::workload::{Prepared, Session};

use crate::fix::clients::Clients;
use crate::fix::params::{self, Waits};
use crate::fix::serving::{self, Serving, Watch, fault};
use crate::followers::{self, Followers, TIMEOUT};
use crate::queue::allocation_note;

pub(super) const COMP_ID: &str = "ENGINE";
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of an order and its reports in a store, about.
const ORDER_BYTES: usize = 1024;
const ROOM_BYTES_MAX: usize = 1 << 30;

pub(super) struct Ready {
    directory: PathBuf,
    profile: Profile,
    clients: Clients,
    /// Before the secondaries of its store, so that it ends first.
    acceptor: Acceptor<Watch>,
    followers: Followers,
    notes: Vec<String>,
    schedule: Schedule,
}

impl Ready {
    pub(super) fn new(session: &Session) -> Result<Self, Fault> {
        let params = &session.params;
        let mut notes = roles(session)?;
        let profile = params::profile(params);
        let directory = params::directory(session);
        let folder = directory.parent().unwrap_or(&directory);
        std::fs::create_dir(folder).map_err(Fault::io("make", folder))?;
        let (followers, of_followers) = followers(session)?;
        notes.extend(of_followers);
        let store = store(session, &directory, &followers)?;
        notes.extend(zeros(profile, &directory)?);
        let mut acceptor = acceptor(session, store)?;
        let address = acceptor.address().map_err(fault)?;
        let mut clients = Clients::connect(address, params)?;
        log_on(&mut acceptor, &mut clients)?;
        let schedule = Schedule::new(params::arrival(params), u64::MAX);
        Ok(Ready { directory, profile, clients, acceptor, followers, notes, schedule })
    }

    /// The engine on its own thread and CPU, the clients on this one, until every order is answered.
    fn run(
        &mut self,
        session: &Session,
        length_ns: u64,
        is_warm_up: bool,
    ) -> Result<Measured, Fault> {
        let mut pace = self.schedule.pace(session, is_warm_up);
        let setup = session.measurement(is_warm_up);
        let of_clients = Measurement { ops: vec![params::ROUND_TRIP.into()], ..setup.clone() };
        let (clients, acceptor) = (&mut self.clients, &mut self.acceptor);
        let open = &AtomicBool::new(true);
        let serving = Serving { acceptor, open, is_over: false };
        let measured = thread::scope(|scope| {
            let engine = scope.spawn(move || serving.run(session, &setup));
            let sent = pickfs_workload::placement::pin(session.spec.helper_cpu)
                .and_then(|()| of_clients.run(clients, &mut pace, Span::time(length_ns)));
            open.store(false, Release);
            let died = || Fault::Failed { reason: "the engine's thread died".into() };
            let served = engine.join().unwrap_or_else(|_| Err(died()));
            // What ended the engine also ends its clients: it is the reason.
            let (served, mut measured) = (served?, sent?);
            measured.ops.extend(served.ops);
            Ok(measured)
        });
        pickfs_workload::placement::pin(session.spec.cpu)?;
        measured
    }

    fn count(&mut self, before: [u64; 3], measured: &mut Measured) {
        let [orders, reports, late] = before;
        let lost = self.acceptor.engine().observer().lost;
        let counts = [
            ("orders", self.clients.orders - orders),
            ("reports", self.clients.reports - reports),
            ("sent_late", self.clients.arrivals_late - late),
            ("steps_lost", lost),
        ];
        self.schedule.count(&counts, measured);
        let late_share = (self.clients.arrivals_late - late) as f64
            / (self.clients.orders - orders).max(1) as f64;
        measured.notes.extend(arrival::doubt(measured, "orders", late_share));
    }
}

fn followers(session: &Session) -> Result<(Followers, Option<String>), Fault> {
    let count = usize::from(params::profile(&session.params) == Profile::Pair);
    let spec = &session.spec;
    let spare = pickfs_workload::placement::spare([spec.cpu, spec.helper_cpu]);
    let helper_cpu = spare.or(spec.helper_cpu);
    let spec = TrialSpec { helper_cpu, ..spec.clone() };
    let session = Session { spec, ..session.clone() };
    let followers = Followers::start(&session, &params::terms(&session), count)?;
    let note = (count > 0).then(|| followers::told(&session, count, helper_cpu));
    Ok((followers, note))
}

fn zeros(profile: Profile, directory: &Path) -> Result<Option<String>, Fault> {
    if profile != Profile::Queue {
        return Ok(None);
    }
    let queue = queue::Queue::open(directory, queue::Options::default());
    let queue = queue.map_err(|error| fault(StoreError::from(error).into()))?;
    Ok(allocation_note(&queue, queue::Allocation::Either))
}

fn orders_max(session: &Session) -> usize {
    let length_ns = 2 * session.spec.warmup_ns + session.spec.measure_ns;
    params::orders_max(&session.params, length_ns)
}

fn store(
    session: &Session,
    directory: &Path,
    followers: &Followers,
) -> Result<Box<dyn Store>, Fault> {
    let params = &session.params;
    match params::profile(params) {
        Profile::Memory => {
            let room = (orders_max(session) * ORDER_BYTES).min(ROOM_BYTES_MAX);
            Ok(Box::new(LogStore::new(MemoryLog::with_room(room))))
        }
        Profile::Pair => beside(session, || pair(session, directory, followers)),
        profile => beside(session, || {
            let opened = profile.open(directory, params.integer("file_size"));
            opened.map_err(|error| fault(error.into()))
        }),
    }
}

fn pair(
    session: &Session,
    directory: &Path,
    followers: &Followers,
) -> Result<Box<dyn Store>, Fault> {
    let primary = Primary::open(PrimaryOptions {
        store: params::node_store(&session.params),
        timeout: TIMEOUT,
        waiting: Waiting::Spin,
        transport: followers::transport(&session.params),
        identity: followers.identity(),
        ..PrimaryOptions::new(followers::primary_dir(directory), followers.addresses())
    });
    let log = PairLog::over(primary.map_err(followers::fault)?, TIMEOUT, drop);
    Ok(Box::new(LogStore::new(log.map_err(|error| fault(error.into()))?)))
}

fn acceptor(session: &Session, store: Box<dyn Store>) -> Result<Acceptor<Watch>, Fault> {
    let (params, orders_max) = (&session.params, orders_max(session));
    let clients = params.integer("clients") as usize;
    let settings = Settings {
        comp_id: COMP_ID.into(),
        sessions_max: clients,
        connections_max: clients,
        market: Limits { orders_max, symbols_max: clients },
        ..Settings::default()
    };
    let watch = Watch::new(Waits::of(params));
    let engine = Engine::observed(settings, store, now(), watch, None).map_err(fault)?;
    let wait = if params.text("engine_wait") == "sleep" { Wait::Sleep } else { Wait::Spin };
    Acceptor::listen(engine, SocketAddr::from(([127, 0, 0, 1], 0)), wait).map_err(fault)
}

/// Opens a store where its threads are to run: on the engine's other CPUs, if it has any.
fn beside<T>(session: &Session, open: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let spare = match session.params.integer("engine_cores") {
        1 => session.spec.helper_cpu,
        _ => pickfs_workload::placement::spare([session.spec.cpu, session.spec.helper_cpu]),
    };
    pickfs_workload::placement::pin(spare)?;
    let opened = open();
    pickfs_workload::placement::pin(session.spec.helper_cpu)?;
    opened
}

fn log_on(acceptor: &mut Acceptor<Watch>, clients: &mut Clients) -> Result<(), Fault> {
    let deadline = Instant::now() + PATIENCE;
    while !clients.are_in() {
        clients.exchange()?;
        acceptor.round().map_err(fault)?;
        if Instant::now() > deadline {
            return Err(Fault::Failed { reason: "the clients could not log on".into() });
        }
    }
    acceptor.engine().observer().steps.clear();
    Ok(())
}

/// Which threads run where; refused where the machine has fewer CPUs than are set aside.
fn roles(session: &Session) -> Result<Vec<String>, Fault> {
    let cores = session.params.integer("engine_cores") as usize;
    let there = pickfs_workload::placement::count();
    if cores > 1 && cores >= there {
        let reason = format!(
            "{cores} CPUs are set aside for the engine and the machine has {there}; take engine_cores up to {}",
            there.max(2) - 1
        );
        return Err(Fault::Skipped { reason });
    }
    let engine = crate::cpu(session.spec.cpu);
    let clients = crate::cpu(session.spec.helper_cpu);
    let mut notes =
        vec![format!("two threads of one process: engine on {engine}, clients on {clients}")];
    if session.spec.cpu.is_none() {
        notes.push("engine and clients share one CPU: every figure holds waits for it".into());
    }
    Ok(notes)
}

impl Prepared for Ready {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        let span = self.schedule.warm_up(session)?;
        Ok(self.run(session, span.length_ns, true)?.load.measured_ns)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let clients = &self.clients;
        let before = [clients.orders, clients.reports, clients.arrivals_late];
        let mut measured = self.run(session, session.spec.measure_ns, false)?;
        self.count(before, &mut measured);
        Ok(measured)
    }

    /// The engine ends first: a journal has one writer.
    fn verify(&mut self, session: &Session) -> Result<u64, Fault> {
        self.acceptor.end();
        let file_bytes = session.params.integer("file_size");
        let copies = self.followers.end()?;
        if self.profile == Profile::Pair {
            let mut nodes = vec![followers::primary_dir(&self.directory)];
            nodes.extend(copies);
            return nodes.iter().map(|node| verify_node(node, &self.clients)).sum();
        }
        verify(&self.directory, self.profile, file_bytes, &self.clients)
    }
}

// What was sent is found again in the store: every order once, in order, each with its report.

#[derive(Debug, Default)]
struct Found {
    orders: u64,
    reports: u64,
    /// Number of the last order of each session: those of one rise.
    last: Vec<u64>,
    is_out_of_order: bool,
}

impl Found {
    fn take(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        match entry.kind {
            EntryKind::OutBusiness => self.reports += 1,
            EntryKind::In => {
                let message = Message::parse(entry.message).ok();
                let name = message.and_then(|message| uint(message.get(tag::CL_ORD_ID)?));
                if let Some(number) = name {
                    self.orders += 1;
                    let session = entry.session as usize;
                    self.last.resize(self.last.len().max(session + 1), 0);
                    let last = std::mem::replace(&mut self.last[session], number);
                    self.is_out_of_order |= number <= last;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Found {
    fn check(&self, clients: &Clients) -> Result<u64, Fault> {
        compare("orders", self.orders, clients.orders)?;
        compare("reports", self.reports, clients.reports)?;
        if self.is_out_of_order {
            return Err(Fault::Wrong {
                what: "the store does not hold each order once and in order".into(),
            });
        }
        Ok(self.orders + self.reports)
    }
}

pub(super) fn verify(
    directory: &Path,
    profile: Profile,
    file_bytes: u64,
    clients: &Clients,
) -> Result<u64, Fault> {
    if profile == Profile::Memory {
        // Each report was seen by its client.
        return Ok(clients.reports);
    }
    let failed = |error: StoreError| serving::fault(error.into());
    let mut store = profile.open(directory, file_bytes).map_err(failed)?;
    let mut found = Found::default();
    store.replay(&mut |entry| found.take(entry)).map_err(failed)?;
    if profile == Profile::FileStore {
        // A store of what went out alone: all of it can be sent again.
        let mut reports = 0;
        for session in 0..clients.sessions() {
            let mut each = |_: &Entry<'_>| {
                reports += 1;
                ControlFlow::Continue(())
            };
            store.resend(session, 1..=u64::MAX, &mut each).map_err(failed)?;
        }
        return compare("reports", reports, clients.reports).map(|()| reports);
    }
    found.check(clients)
}

pub(super) fn verify_node(node: &Path, clients: &Clients) -> Result<u64, Fault> {
    let (mut found, mut wrong) = (Found::default(), None);
    let store = node.join("store");
    let read = read_store(&store, 1, |at, record| {
        let taken = Entry::decode(record).and_then(|entry| found.take(&entry).ok());
        match taken {
            Some(()) => ControlFlow::Continue(()),
            None => {
                wrong = Some(at.sequence);
                ControlFlow::Break(())
            }
        }
    });
    read.map_err(followers::fault)?;
    if let Some(record) = wrong {
        let what = format!("record {record} of {} is none of the engine", store.display());
        return Err(Fault::Wrong { what });
    }
    found.check(clients)
}

fn compare(what: &str, found: u64, expected: u64) -> Result<(), Fault> {
    if found == expected {
        return Ok(());
    }
    Err(Fault::Wrong {
        what: format!("the store holds {found} {what}, the clients saw {expected}"),
    })
}
