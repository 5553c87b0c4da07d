use std::{sync::Arc, time::Instant};

use pickfs_record::{
    TrialSpec, WorkerMessage,
    trial::{FINAL_SYNC_KEY, READ_BACK, SUSTAINED_KEYS},
};
use pickfs_sys::{
    affinity::{IoPriority, pin_to, set_io_priority},
    live_page::LivePage,
    nodes::{bind_memory_to, in_turn, nodes},
    slow_operations::SlowOperations,
    starting_gate::StartingGate,
};
use pickfs_workload::{
    Fault, LiveOperations, MEASURING, Measured, NODES, ParamError, Session, Workload, find,
    phase::{Gate, LabLine},
    pin, rank,
    role::answer,
    roles_are_played_by, write_slow_operations_to,
};

use crate::conversation::{StandardLine, hello, say, spec};

pub enum Ending {
    Told(WorkerMessage),
    Deserted,
}

impl Ending {
    pub fn failed(reason: String) -> Ending {
        Ending::Told(WorkerMessage::Failed { reason })
    }

    pub fn tell(&self) {
        if let Ending::Told(message) = self {
            let _ = say(message);
        }
    }
}

impl From<Fault> for Ending {
    fn from(fault: Fault) -> Ending {
        let reason = fault.to_string();
        Ending::Told(match fault.is_skip() {
            true => WorkerMessage::Skipped { reason },
            false => WorkerMessage::Failed { reason },
        })
    }
}

impl From<ParamError> for Ending {
    fn from(error: ParamError) -> Ending {
        Ending::failed(error.to_string())
    }
}

pub fn run() -> Result<(), Ending> {
    hello()?;
    let spec = spec()?;
    let workload = find(&spec.workload.name)?;
    let (name, asked, ours) = (&spec.workload.name, spec.workload.version, workload.version);
    if asked != ours {
        let reason = format!("workload {name} is version {ours} here, and {asked} was asked");
        return Err(Ending::failed(reason));
    }
    if spec.role == READ_BACK {
        return Ok(answer(&(workload.read_back)(&Session::new(spec, None)?)?)?);
    }
    if spec.role != MEASURING {
        // What the lab handed over is for the worker that started us.
        return Ok((workload.play)(&Session::new(spec, None)?)?);
    }
    if let Ok(program) = std::env::current_exe() {
        roles_are_played_by(program);
    }
    let session = Session::new(spec, live_page()?)?;
    let gate = StartingGate::inherited().map_err(|error| Ending::failed(error.to_string()))?;
    let line = Arc::new(StandardLine::default());
    let session = session.among(Gate::new(gate), line.clone());
    let ran = trial(workload, &session, &line);
    if ran.is_err() {
        session.gate.break_open();
    }
    ran
}

fn trial(workload: &Workload, session: &Session, line: &StandardLine) -> Result<(), Ending> {
    take_processors(&session.spec)?;
    settle_on_node(session)?;
    take_io_priority(session.spec.io_priority.as_deref())?;
    // Threads of the workload itself (roll ahead, reader of hot files) inherit the helper's CPU.
    if session.spec.lanes == 1 {
        pin(session.spec.helper_cpu)?;
    }
    let mut prepared = workload.make_ready(session)?;
    if session.spec.lanes == 1 {
        pin(session.spec.cpu)?;
    }
    rank(&session.params)?;
    let operations =
        SlowOperations::inherited().map_err(|error| Ending::failed(error.to_string()))?;
    operations.into_iter().for_each(write_slow_operations_to);
    let warmup_ns = prepared.warm_up(session)?;
    let is_paid = !session.spec.final_sync.is_empty();
    if is_paid {
        sync_all(&session.spec)?;
    }
    line.is_ready_by(WorkerMessage::Ready { notes: prepared.notes(), warmup_ns });
    if !workload.begins_by_recorder {
        line.begin()?;
    }
    let mut measured = prepared.measure(session)?;
    let paid_ns = || -> Result<f64, Ending> {
        let began = Instant::now();
        if is_paid {
            sync_all(&session.spec)?;
        }
        Ok(began.elapsed().as_nanos() as f64)
    };
    if is_paid {
        measured.counts.insert(FINAL_SYNC_KEY.into(), paid_ns()?);
    }
    if session.spec.sustain_ns > 0 {
        if let Some(driven) = prepared.sustain(session)? {
            let counts = [driven.arrivals as f64, driven.measured_ns as f64 + paid_ns()?];
            let counts = SUSTAINED_KEYS.map(String::from).into_iter().zip(counts);
            measured.counts.extend(counts);
        }
    }
    let checked = prepared.verify(session)?;
    measured.notes.extend(prepared.left());
    report(measured, checked)
}

/// What the candidate has put off is written now.
fn sync_all(spec: &TrialSpec) -> Result<(), Ending> {
    let failed = |error: std::io::Error| {
        Ending::failed(format!("sync {}: {error}", spec.directory.display()))
    };
    let directory = std::fs::File::open(&spec.directory).map_err(failed)?;
    rustix::fs::syncfs(directory).map_err(|error| failed(error.into()))
}

/// The processors that the user named: all of them for one lane, a share of its own for each of several.
fn take_processors(spec: &TrialSpec) -> Result<(), Ending> {
    let all = &spec.cpus;
    let (lane, lanes) = (spec.lane as usize, spec.lanes.max(1) as usize);
    let own: Vec<u32> = match all.len() >= lanes {
        true => all.iter().copied().skip(lane).step_by(lanes).collect(),
        false => all.get(lane % all.len().max(1)).copied().into_iter().collect(),
    };
    if own.is_empty() {
        return Ok(());
    }
    pin_to(&own).map_err(|error| Fault::Failed { reason: error.to_string() }.into())
}

/// Threads that are started later inherit it. Level 4 is the middle of a class.
fn take_io_priority(asked: Option<&str>) -> Result<(), Ending> {
    let priority = match asked {
        None | Some("unset") => return Ok(()),
        Some("realtime") => IoPriority::RealTime(4),
        Some("best-effort") => IoPriority::BestEffort(4),
        Some("idle") => IoPriority::Idle,
        Some(other) => return Err(Ending::failed(format!("I/O priority {other:?} not known"))),
    };
    set_io_priority(priority).map_err(|error| Ending::failed(error.to_string()))
}

/// Lanes take the memory nodes of the machine in turn, with processors and memory of one each.
fn settle_on_node(session: &Session) -> Result<(), Ending> {
    let (spec, nodes) = (&session.spec, nodes());
    let is_asked = session.params.text(NODES.name) != "none" && spec.cpus.is_empty();
    let Some(node) = in_turn(&nodes, spec.lane).filter(|_| is_asked && spec.lanes > 1) else {
        return Ok(());
    };
    pin_to(&node.processors).map_err(|error| Ending::failed(error.to_string()))?;
    bind_memory_to(node).map_err(|error| {
        Ending::failed(format!(
            "bind the memory of lane {} to node {}: {error}",
            spec.lane, node.number
        ))
    })
}

fn live_page() -> Result<Option<Arc<dyn LiveOperations>>, Ending> {
    let page = LivePage::inherited().map_err(|error| Ending::failed(error.to_string()))?;
    Ok(page.map(|page| Arc::new(page) as Arc<dyn LiveOperations>))
}

fn report(measured: Measured, checked: u64) -> Result<(), Ending> {
    for op in measured.ops {
        say(&WorkerMessage::Op(Box::new(op)))?;
    }
    for phase in measured.phases {
        say(&WorkerMessage::Phase(Box::new(phase)))?;
    }
    say(&WorkerMessage::Load(measured.load))?;
    for (name, value) in measured.counts {
        say(&WorkerMessage::Count { name, value })?;
    }
    for (name, value) in measured.figures {
        say(&WorkerMessage::Figure { name, value })?;
    }
    if let Some(stalls) = measured.stalls {
        say(&WorkerMessage::Stalls(Box::new(stalls)))?;
    }
    for text in measured.notes {
        say(&WorkerMessage::Note { text })?;
    }
    say(&WorkerMessage::Verified { checked })?;
    say(&WorkerMessage::Finished)
}
