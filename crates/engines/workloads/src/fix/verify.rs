//! What was sent is found again in the store: every order once, in order, each with its report.

use std::{ops::ControlFlow, path::Path};

use pickfs_fix::{
    codec::{Message, tag, uint},
    store::{Entry, EntryKind, Profile, StoreError},
};

use pickfs_pair::{Kind, read_store};
use pickfs_workload::fault::Fault;

use crate::{
    fix::{clients::Clients, serving},
    followers,
};

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
    let read = read_store(&store, Kind::Journal, 1, |at, record| {
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
