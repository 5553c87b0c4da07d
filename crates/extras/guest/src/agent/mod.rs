//! The first program of a guest: it makes the little system that a lane needs, mounts the
//! candidate, calibrates, and passes words between the lab and the lanes. It measures nothing itself,
//! and sleeps while a lane measures.
//!
//! ```text
//! lab ◄─ messages ─► agent (process 1) ◄─ pipes ─► lanes, each the same program again
//! ```

mod calibration;
mod candidate;
mod channel;
mod lanes;
mod system;

use std::io::BufRead;

use crate::message::{FromGuest, Order, ToGuest, receive};
use pickfs_record::visible::visible;
use pickfs_workload::BUILD;

use candidate::Candidate;
use channel::Channel;
use lanes::Lanes;

pub fn is_asked() -> bool {
    std::process::id() == 1 && system::channel_name().is_some()
}

/// Whatever goes wrong is told, and the power goes off.
pub fn run() -> ! {
    if let Err(reason) = system::make_folders() {
        say(&reason);
    }
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
        say(&reason);
    }
    system::power_off()
}

/// On the console.
fn say(reason: &str) {
    eprintln!("pickfs: {}", visible(reason));
}

fn converse(channel: &Channel, mut orders: impl BufRead) -> Result<(), String> {
    channel.tell(&FromGuest::Booted { build: BUILD.into(), kernel: system::kernel_release() });
    let mut lanes = Lanes::none();
    let mut mounted: Option<Candidate> = None;
    while let Some(order) = receive(&mut orders) {
        let candidate = mounted.as_mut().ok_or("nothing is mounted in the guest");
        match order? {
            ToGuest::Calibrate => {
                channel.tell(&FromGuest::Calibrated { facts: calibration::calibrate() });
            }
            ToGuest::Mount(_) if candidate.is_ok() => return Err("`mount` was said twice".into()),
            ToGuest::Mount(order) => mounted = Some(mount(channel, *order)?),
            ToGuest::StartLanes { count, words } => lanes = Lanes::start(count, &words, channel)?,
            ToGuest::Say { lane, line } => lanes.say(lane, &line),
            ToGuest::Cool => {
                candidate?.cool()?;
                channel.tell(&FromGuest::Cooled);
            }
            ToGuest::Unmount => {
                mounted.take().map_or(Ok(()), |candidate| candidate.unmount())?;
                channel.tell(&FromGuest::Unmounted);
            }
            ToGuest::End => {
                channel.tell(&FromGuest::Ended);
                return Ok(());
            }
        }
    }
    Err("the lab is gone".into())
}

fn mount(channel: &Channel, order: Order) -> Result<Candidate, String> {
    system::load_modules(&order.modules)?;
    channel.tell(&FromGuest::ModulesLoaded);
    let candidate = Candidate::mount(order)?;
    channel.tell(&FromGuest::Mounted { facts: candidate.facts()? });
    Ok(candidate)
}
