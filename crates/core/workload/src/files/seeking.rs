//! The time goes from the first ticket that is taken to the last seeker's end after its fsync and
//! close. Calls are synchronous and nobody paces them: a stall makes fewer seeks, not later ones.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use pickfs_sys::aligned_buffer::AlignedBuffer;
use rustix::fs::{OFlags, SeekFrom};

use super::{
    calls::{self, fault, fsync_and_close, open, read_full, seek, write_all},
    content::{Content, Expected},
    interrupt,
    lane::Lane,
    one_file::{differs, flag_if},
    phases::{Kind, Phase},
    settings::{Direct, Settings},
    tickets::{Ticket, Tickets},
    watch::{Original, Watch, cpu_ns},
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench, ThreadBench},
};

/// Every so many seeks of a seeker one chunk is compared with what must be in it.
const CHECK_EVERY: u64 = 16;

struct Shared<'a> {
    path: &'a Path,
    settings: &'a Settings,
    content: &'a Content,
    tickets: Tickets,
    /// One of them failed: the others need not go on.
    is_over: AtomicBool,
}

struct Sought {
    original: Original,
    bytes: u64,
    checked: u64,
}

pub(super) fn run(lane: &mut Lane, path: &Path, content: &Content) -> Result<bool, Fault> {
    let settings = lane.settings;
    let tickets = Tickets::draw(settings.seeks, settings.chunks(), &mut lane.stream);
    let shared = Shared { path, settings, content, tickets, is_over: AtomicBool::new(false) };
    let mut checked = 0;
    let ran = lane.run_threads(Phase::Seeks, |bench| {
        let sought = seek_together(&shared, bench)?;
        let originals = sought.iter().map(|one| one.original);
        checked = sought.iter().map(|one| one.checked).sum();
        let real_bytes = sought.iter().map(|one| one.bytes).sum();
        let work = f64::from(shared.tickets.count());
        let nothing = Original { slowest_ns: 0, cpu_ns: 0 };
        Ok((Done { work, real_bytes }, originals.fold(nothing, Original::and)))
    })?;
    lane.checked += checked;
    Ok(ran)
}

fn seek_together(shared: &Shared, bench: &mut PhaseBench) -> Result<Vec<Sought>, Fault> {
    let own = open(shared.path, OFlags::RDWR)?;
    let benches = bench.split(shared.settings.seekers as usize);
    thread::scope(|scope| {
        let mut gates = Vec::new();
        let mut seekers = Vec::new();
        let (opened, all_open) = channel();
        for bench in benches {
            let (gate, signal) = channel();
            let opened = opened.clone();
            gates.push(gate);
            let body = move || seeker(shared, bench, opened, &signal);
            let started = thread::Builder::new().name("seeker".into()).spawn_scoped(scope, body);
            seekers.push(started.map_err(Fault::io("start a thread for", shared.path))?);
        }
        drop(opened);
        // Until every seeker has it open: the first to end removes the file.
        all_open.iter().for_each(drop);
        settle(shared.settings.settle_ns)?;
        bench.span_begins();
        for gate in &gates {
            let _ = gate.send(());
        }
        // The first thread's own descriptor is synced while the seekers run, as in the original.
        fsync_and_close(own, shared.path)?;
        let joined = seekers.into_iter().map(|seeker| {
            seeker.join().unwrap_or_else(|_| Err(Fault::Failed { reason: "a seeker died".into() }))
        });
        // All of them are waited for, also behind a failed one.
        let sought: Vec<_> = joined.collect();
        bench.span_ends();
        sought.into_iter().filter_map(Result::transpose).collect()
    })
}

fn settle(length_ns: u64) -> Result<(), Fault> {
    let until = Instant::now() + Duration::from_nanos(length_ns);
    while let Some(rest) = until.checked_duration_since(Instant::now()) {
        interrupt::check()?;
        thread::sleep(rest.min(Duration::from_millis(20)));
    }
    Ok(())
}

/// Without a signal it ends at once; one that came too late for a ticket has no span.
fn seeker(
    shared: &Shared,
    mut bench: ThreadBench,
    opened: Sender<()>,
    signal: &Receiver<()>,
) -> Result<Option<Sought>, Fault> {
    // The measuring thread may be pinned; several seekers on one CPU are not what was asked for.
    crate::placement::pin(None)?;
    let direct = flag_if(shared.settings.direct == Direct::All, OFlags::DIRECT);
    let file = open(shared.path, OFlags::RDWR | direct);
    drop(opened);
    if signal.recv().is_err() {
        return Ok(None);
    }
    let sought = file.and_then(|file| {
        let first = shared.tickets.take();
        if first.is_some() {
            bench.span_begins();
        }
        let sought = seek_all(shared, file, first, &mut bench)?;
        if first.is_some() {
            bench.span_ends();
        }
        Ok(sought)
    });
    let sought = sought.inspect_err(|_| shared.is_over.store(true, Relaxed))?;
    if shared.settings.is_bonnie {
        // The seeker that ends first removes the file; the others find it gone.
        match rustix::fs::unlink(shared.path) {
            Err(rustix::io::Errno::NOENT) => {}
            removed => removed.map_err(fault("unlink", shared.path))?,
        }
    }
    Ok(Some(sought))
}

fn seek_all(
    shared: &Shared,
    file: OwnedFd,
    first: Option<Ticket>,
    bench: &mut ThreadBench,
) -> Result<Sought, Fault> {
    let Shared { path, settings, content, .. } = *shared;
    let mut buffer = AlignedBuffer::zeroed(settings.chunk_bytes);
    let mut expected = Vec::with_capacity(settings.chunk_bytes);
    let mut watch = Watch::new(bench, &Phase::Seeks.kinds(settings));
    let (mut served, mut bytes, mut checked) = (0u64, 0, 0);
    let before_ns = cpu_ns();
    let mut next = first;
    while let Some(ticket) = next {
        let offset_bytes = ticket.chunk * settings.chunk_bytes as u64;
        watch.begin();
        seek(file.as_fd(), SeekFrom::Start(offset_bytes), path)?;
        read_full(file.as_fd(), &mut buffer, path)?;
        watch.step(Kind::Read);
        bytes += settings.chunk_bytes as u64;
        if served % CHECK_EVERY == 0 {
            let place = content.difference(ticket.chunk, &buffer, Expected::Updated, &mut expected);
            differs(place, path, offset_bytes)?;
            checked += 1;
        }
        served += 1;
        if ticket.is_update {
            // The chunk is written back with one byte lowered.
            let place = ticket.chunk as usize & (settings.chunk_bytes - 1);
            buffer[place] = buffer[place].wrapping_sub(1);
            watch.begin();
            seek(file.as_fd(), SeekFrom::Start(offset_bytes), path)?;
            write_all(file.as_fd(), &buffer, path)?;
            watch.step(Kind::Update);
            if settings.fsync_updates {
                calls::fsync(file.as_fd(), path)?;
                watch.step(Kind::Fsync);
            }
            bytes += settings.chunk_bytes as u64;
        }
        watch.done(offset_bytes)?;
        next = shared.tickets.take().filter(|_| !shared.is_over.load(Relaxed));
    }
    fsync_and_close(file, path)?;
    let original = Original { cpu_ns: cpu_ns() - before_ns, ..watch.original };
    Ok(Sought { original, bytes, checked })
}
