//! The first program of a guest: it makes the little system that a lane needs, mounts the
//! candidate, calibrates, and passes words between the lab and the lanes. It measures nothing itself,
//! and sleeps while a lane measures.
//!
//! ```text
//! lab ◄─ frames ─► agent (process 1) ◄─ pipes ─► lanes, each the same program again
//! ```

mod calibration;
mod candidate;
mod channel;
mod check;
mod clock;
mod lanes;
mod system;

pub use clock::take_clock;

use pickfs_guest::message::{FromGuest, Order, ToGuest};
use pickfs_workload::BUILD;

use candidate::Candidate;
use channel::Channel;
use lanes::Lanes;

/// Whether this process is the first of a guest.
pub fn is_asked() -> bool {
    std::process::id() == 1 && system::channel_name().is_some()
}

/// The life of a guest. Whatever goes wrong is told, and the power goes off.
pub fn run() -> ! {
    system::make_folders();
    pickfs_sys::vdso::hide_if_bare();
    let ended = match Channel::open() {
        Ok((channel, orders)) => {
            let told = converse(&channel, orders);
            if let Err(reason) = &told {
                channel.tell(&FromGuest::Failed { reason: reason.clone() });
            }
            told
        }
        Err(reason) => Err(reason),
    };
    if let Err(reason) = ended {
        // The console is the last place to say something.
        eprintln!("pickfs: {reason}");
    }
    system::power_off()
}

fn converse(channel: &Channel, mut orders: channel::Orders) -> Result<(), String> {
    channel.tell(&FromGuest::Booted { build: BUILD.into(), kernel: system::kernel_release() });
    let Some(ToGuest::Begin(order)) = orders.next_order(&Lanes::none())? else {
        return Err("the first word of the lab was no `begin`".into());
    };
    let (mut candidate, counter) = begin(channel, *order)?;
    let mut lanes = Lanes::none();
    while let Some(order) = orders.next_order(&lanes)? {
        match order {
            ToGuest::Begin(_) => return Err("the lab said `begin` twice".into()),
            ToGuest::StartLanes { count } => lanes = Lanes::start(count, channel, counter)?,
            ToGuest::Cool => {
                candidate.cool()?;
                channel.tell(&FromGuest::Cooled);
            }
            ToGuest::Check { anew } => channel.tell(&check::check(&mut candidate, anew)?),
            ToGuest::End => {
                candidate.unmount()?;
                channel.tell(&FromGuest::Ended);
                return Ok(());
            }
        }
    }
    Err("the lab is gone".into())
}

/// Modules, calibration, mount: each is told when it is done.
fn begin(channel: &Channel, order: Order) -> Result<(Candidate, Option<clock::Counter>), String> {
    system::load_modules(&order.modules)?;
    channel.tell(&FromGuest::ModulesLoaded);
    let counter = clock::choose(order.tsc_hz);
    channel.tell(&FromGuest::Calibrated { facts: calibration::calibrate(counter) });
    let candidate = Candidate::mount(order)?;
    channel.tell(&FromGuest::Mounted { facts: candidate.facts()? });
    Ok((candidate, counter))
}
