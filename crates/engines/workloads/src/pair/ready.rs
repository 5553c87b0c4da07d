use pickfs_workload::arrival::{self, Schedule};
use pickfs_workload::drive::{Span, Work};
use pickfs_workload::fault::Fault;
use pickfs_workload::measurement::Measured;
use pickfs_workload::workload::{Prepared, Session};

use crate::pair::gating::Gating;
use crate::pair::params;
use crate::pair::pinging::Pinging;
use crate::{followers, hosts};

/// The pair, or a bare ping-pong.
pub(super) trait Side: Work {
    /// A measurement begins.
    fn begin(&mut self) {}

    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn verify(&mut self) -> Result<u64, Fault>;
}

struct Ready<W> {
    schedule: Schedule,
    notes: Vec<String>,
    side: W,
}

pub(super) fn prepare(session: &Session) -> Result<Box<dyn Prepared>, Fault> {
    let recording = arrival::recording(&session.params)?;
    let schedule = Schedule::of(&session.params, recording.as_ref());
    let notes = vec![roles(session)];
    Ok(match params::socket(&session.params) {
        Some(socket) => Box::new(Ready { schedule, notes, side: Pinging::start(session, socket)? }),
        None => Box::new(Ready { schedule, notes, side: Gating::start(session)? }),
    })
}

fn roles(session: &Session) -> String {
    let (ours, theirs) = (crate::cpu(session.spec.cpu), crate::cpu(session.spec.helper_cpu));
    match (params::socket(&session.params), params::secondaries(&session.params)) {
        (Some(_), _) => {
            format!("ping on {ours}, pong on {theirs}, {}", hosts::told(&session.params))
        }
        (None, 0) => format!("client and primary on {ours}, no secondary"),
        (None, count) => format!(
            "client and primary on {ours}; {}; {} {}, {}",
            followers::told(session, count, session.spec.helper_cpu),
            followers::transport(&session.params),
            hosts::told(&session.params),
            match hosts::is_second(&session.params) {
                true => "stores of secondaries where the program was started there",
                false => "all stores on this file system",
            },
        ),
    }
}

impl<W: Side> Prepared for Ready<W> {
    fn warm_up(&mut self, session: &Session) -> Result<u64, Fault> {
        let span = self.schedule.warm_up(session)?;
        let mut pace = self.schedule.pace(session, true);
        let measured = session.measurement(true).run(&mut self.side, &mut pace, span)?;
        Ok(measured.load.measured_ns)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        self.side.begin();
        let mut pace = self.schedule.pace(session, false);
        let span = Span::time(session.spec.measure_ns);
        let mut measured = session.measurement(false).run(&mut self.side, &mut pace, span)?;
        measured.notes.extend(arrival::doubt(&measured, "messages", 0.0));
        self.schedule.count(&self.side.counts(), &mut measured);
        Ok(measured)
    }

    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        self.side.verify()
    }
}
