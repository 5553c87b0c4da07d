mod data;
mod flush;
mod keeps;
mod largest;
mod names;
mod renames;
mod service;
mod sharing;
mod space;
mod times;
mod torn;
mod unix;

pub use keeps::KEEPS;

use crate::probe::Probe;

pub const ALL: &[&[Probe]] = &[
    unix::PROBES,
    names::PROBES,
    renames::PROBES,
    space::PROBES,
    sharing::PROBES,
    largest::PROBES,
    data::PROBES,
    flush::PROBES,
    keeps::PROBES,
    torn::PROBES,
    times::PROBES,
    service::PROBES,
];
