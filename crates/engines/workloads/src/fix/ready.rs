use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use pickfs_fix::{
    Acceptor, Wait,
    engine::{Engine, Settings},
    market::Limits,
    now,
    store::{LogStore, MemoryLog, PairLog, Profile, Store, StoreError},
};
use pickfs_pair::{Primary, PrimaryOptions, Waiting};
use pickfs_queue as queue;
use pickfs_record::TrialSpec;
use pickfs_workload::{
    arrival::{self, Schedule},
    drive::Span,
    fault::Fault,
    measurement::{Measured, Measurement},
    workload::{Prepared, Session},
};

use crate::{
    fix::{
        clients::Clients,
        params::{self, Waits},
        serving::{Open, Serving, fault},
        verify,
        watch::Watch,
    },
    followers::{self, Followers, TIMEOUT},
    queue::allocation_note,
};

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
    serving: Serving,
    followers: Followers,
    open: Arc<Open>,
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
        let open = Arc::new(Open::default());
        let serving = Serving::new(acceptor, open.clone());
        let schedule = Schedule::new(params::arrival(params), u64::MAX);
        Ok(Ready { directory, profile, clients, serving, followers, open, notes, schedule })
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
        let (clients, serving, open) = (&mut self.clients, &mut self.serving, &self.open);
        open.begin();
        let measured = thread::scope(|scope| {
            let engine = scope.spawn(|| serving.run(session, &setup));
            let sent = pickfs_workload::placement::pin(session.spec.helper_cpu)
                .and_then(|()| of_clients.run(clients, &mut pace, Span::time(length_ns)));
            open.end();
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
        let lost = self.serving.acceptor.engine().observer().lost;
        let counts = [
            ("orders", self.clients.orders - orders),
            ("reports", self.clients.reports - reports),
            ("sent_late", self.clients.turns_late - late),
            ("steps_lost", lost),
        ];
        self.schedule.count(&counts, measured);
        let late_share =
            (self.clients.turns_late - late) as f64 / (self.clients.orders - orders).max(1) as f64;
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
    let cpu = |cpu: Option<u32>| cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
    let engine = cpu(session.spec.cpu);
    let clients = cpu(session.spec.helper_cpu);
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
        let before = [clients.orders, clients.reports, clients.turns_late];
        let mut measured = self.run(session, session.spec.measure_ns, false)?;
        self.count(before, &mut measured);
        Ok(measured)
    }

    /// The engine ends first: a journal has one writer.
    fn verify(&mut self, session: &Session) -> Result<u64, Fault> {
        self.serving.acceptor.end();
        let file_bytes = session.params.integer("file_size");
        let copies = self.followers.end()?;
        if self.profile == Profile::Pair {
            let mut nodes = vec![followers::primary_dir(&self.directory)];
            nodes.extend(copies);
            return nodes.iter().map(|node| verify::verify_node(node, &self.clients)).sum();
        }
        verify::verify(&self.directory, self.profile, file_bytes, &self.clients)
    }
}
