//! The calibration cell: what the bare ways of this guest cost, before anything is measured in it.
//! A reader needs it to tell the guest from the file system.
//!
//! | fact | what |
//! | --- | --- |
//! | `guest.call_ns` | an empty system call, getppid(2) |
//! | `guest.kernel_clock_ns` | reading CLOCK_MONOTONIC |
//! | `guest.fill_ns_per_mib` | storing a mebibyte of memory |
//! | `guest.processors` | how many it has |
//!
//! Each is the smallest mean of several rounds: noise only adds.

use std::{hint::black_box, time::Instant};

use pickfs_record::Environment;

const ROUNDS: u32 = 9;
const CALLS: u32 = 500;
const MIB: usize = 1 << 20;

pub fn calibrate() -> Environment {
    let mut facts = Environment::default();
    facts.put(
        "guest.call_ns",
        whole(each_ns(CALLS, || {
            black_box(rustix::process::getppid());
        })),
    );
    facts.put(
        "guest.kernel_clock_ns",
        whole(each_ns(CALLS, || {
            black_box(Instant::now());
        })),
    );
    let mut memory = vec![1u8; MIB];
    facts.put(
        "guest.fill_ns_per_mib",
        whole(each_ns(8, || black_box(&mut memory).fill(black_box(7)))),
    );
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    facts.put("guest.processors", processors);
    facts
}

fn each_ns(calls: u32, mut call: impl FnMut()) -> f64 {
    let round = |_| {
        let began = Instant::now();
        (0..calls).for_each(|_| call());
        began.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}
