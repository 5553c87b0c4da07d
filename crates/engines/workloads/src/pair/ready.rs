use std::path::PathBuf;

use pickfs_pair::{Kind, Primary, PrimaryOptions, wire::ENTRY_HEAD_BYTES};
use pickfs_workload::{
    arrival::{self, Schedule},
    drive::{Span, Work},
    fault::Fault,
    measurement::Measured,
    workload::{Prepared, Session},
};

use crate::{
    followers::{self, Followers, TIMEOUT, Terms, fault},
    hosts,
    pair::{
        client::Client,
        echo::{Echo, Socket},
        gating::{Done, Gating},
        params,
        pinging::Pinging,
        verify::verify,
    },
};

struct Course {
    schedule: Schedule,
    notes: Vec<String>,
}

impl Course {
    fn new(session: &Session) -> Result<Course, Fault> {
        let recording = arrival::recording(&session.params)?;
        let schedule = Schedule::of(&session.params, recording.as_ref());
        Ok(Course { schedule, notes: vec![roles(session)] })
    }

    fn warm_up<W: Work>(&mut self, session: &Session, work: &mut W) -> Result<u64, Fault> {
        let span = self.schedule.warm_up(session)?;
        let mut pace = self.schedule.pace(session, true);
        Ok(session.measurement(true).run(work, &mut pace, span)?.load.measured_ns)
    }

    fn measure<W: Work>(&self, session: &Session, work: &mut W) -> Result<Measured, Fault> {
        let mut pace = self.schedule.pace(session, false);
        let span = Span::time(session.spec.measure_ns);
        let mut measured = session.measurement(false).run(work, &mut pace, span)?;
        measured.notes.extend(arrival::doubt(&measured, "messages", 0.0));
        Ok(measured)
    }
}

fn roles(session: &Session) -> String {
    let cpu = |cpu: Option<u32>| cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
    let (ours, theirs) = (cpu(session.spec.cpu), cpu(session.spec.helper_cpu));
    match (params::socket(&session.params), params::secondaries(&session.params)) {
        (Some(_), _) => {
            format!("ping on {ours}, pong on {theirs}, {}", hosts::told(&session.params))
        }
        (None, 0) => format!("client and primary on {ours}, no secondary"),
        (None, count) => format!(
            "client and primary on {ours}; {}; {} {}, all stores on this file system",
            followers::told(session, count, session.spec.helper_cpu),
            followers::transport(&session.params),
            hosts::told(&session.params),
        ),
    }
}

pub(super) struct GatingReady {
    course: Course,
    /// Before its secondaries, so that it ends first.
    gating: Option<Gating>,
    followers: Followers,
    dir: PathBuf,
    kind: Kind,
}

pub(super) fn gating(session: &Session) -> Result<GatingReady, Fault> {
    let (params, spec) = (&session.params, &session.spec);
    let course = Course::new(session)?;
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
        ..PrimaryOptions::new(followers::primary_dir(&dir), followers.addresses())
    })
    .map_err(fault)?;
    let size = params.integer("size") as usize;
    let client = (params.text("client") == "socket").then(|| Client::new(size)).transpose()?;
    let mut gating = Gating::new(primary, client, params, spec.seed);
    gating.wait_ready()?;
    let kind = if params.text("store") == "queue" { Kind::Queue } else { Kind::Journal };
    Ok(GatingReady { course, gating: Some(gating), followers, dir, kind })
}

impl GatingReady {
    fn work(&mut self) -> Result<(&mut Course, &mut Gating), Fault> {
        let over = || Fault::Failed { reason: "the trial was verified already".into() };
        Ok((&mut self.course, self.gating.as_mut().ok_or_else(over)?))
    }
}

impl Prepared for GatingReady {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        let (course, gating) = self.work()?;
        course.warm_up(session, gating)
    }

    fn notes(&self) -> Vec<String> {
        self.course.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let (course, gating) = self.work()?;
        gating.done = Done::default();
        let mut measured = course.measure(session, gating)?;
        let Done { messages, batches, batch_max, sent_late } = gating.done;
        let counts = [
            ("messages", messages),
            ("batches", batches),
            ("batch_max", batch_max),
            ("sent_late", sent_late),
        ];
        self.course.schedule.count(&counts, &mut measured);
        Ok(measured)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        let Some(mut gating) = self.gating.take() else { return Ok(0) };
        gating.primary.poll().map_err(fault)?;
        let (pattern, sent) = (gating.pattern.clone(), gating.sent());
        drop(gating);
        let mut checked = verify(&followers::primary_dir(&self.dir), self.kind, &pattern, sent)?;
        for dir in self.followers.end()? {
            checked += verify(&dir, self.kind, &pattern, sent)?;
        }
        Ok(checked)
    }
}

pub(super) struct PingingReady {
    course: Course,
    pinging: Pinging,
    _echo: Echo,
}

pub(super) fn pinging(session: &Session, socket: Socket) -> Result<PingingReady, Fault> {
    let course = Course::new(session)?;
    let frame_bytes = ENTRY_HEAD_BYTES + session.params.integer("size") as usize;
    let waiting = params::waiting(&session.params);
    let home = hosts::home(&session.params)?;
    let (echo, end) = Echo::start(socket, home, frame_bytes, waiting, session.spec.helper_cpu)?;
    let pinging = Pinging::new(end, frame_bytes, session.spec.seed);
    Ok(PingingReady { course, pinging, _echo: echo })
}

impl Prepared for PingingReady {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        self.course.warm_up(session, &mut self.pinging)
    }

    fn notes(&self) -> Vec<String> {
        self.course.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let mut measured = self.course.measure(session, &mut self.pinging)?;
        self.course.schedule.count(&[], &mut measured);
        Ok(measured)
    }

    /// Each answer was compared when it came.
    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(self.pinging.answered())
    }
}
