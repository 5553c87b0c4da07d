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
    laps::Places,
    one_file::differs,
    original::{Original, cpu_ns},
    phases::{Kind, Phase},
    scratch_file::ScratchFile,
    settings::{Direct, Settings},
    tickets::{Ticket, Tickets},
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
    content: Option<&'a Content>,
    tickets: Tickets,
    /// One of them failed: the others need not go on.
    is_over: AtomicBool,
}

#[derive(Default)]
struct Sought {
    original: Original,
    bytes: u64,
    checked: u64,
}

pub(super) fn run(
    lane: &mut Lane,
    file: &mut ScratchFile,
    content: Option<&Content>,
) -> Result<bool, Fault> {
    let settings = lane.settings;
    let tickets = Tickets::draw(settings.seeks, settings.chunks(), &mut lane.stream);
    let path = file.path();
    let is_over = AtomicBool::new(false);
    let shared = Shared { path, settings, content, tickets, is_over };
    let mut checked = 0;
    let ran = lane.run(Phase::Seeks, |bench, original| {
        let sought = seek_together(&shared, bench)?;
        *original = sought.iter().fold(Original::default(), |sum, one| sum.and(one.original));
        checked = sought.iter().map(|one| one.checked).sum();
        let real_bytes = sought.iter().map(|one| one.bytes).sum();
        let work = f64::from(shared.tickets.count());
        Ok(Done { work, real_bytes })
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
        sought.into_iter().collect()
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

/// Without a signal it ends at once.
fn seeker(
    shared: &Shared,
    bench: ThreadBench,
    opened: Sender<()>,
    signal: &Receiver<()>,
) -> Result<Sought, Fault> {
    // The measuring thread may be pinned; several seekers on one CPU are not what was asked for.
    crate::placement::pin(None)?;
    let direct = match shared.settings.direct {
        Direct::All => OFlags::DIRECT,
        _ => OFlags::empty(),
    };
    let file = open(shared.path, OFlags::RDWR | direct);
    drop(opened);
    if signal.recv().is_err() {
        return Ok(Sought::default());
    }
    let sought = file.and_then(|file| seek_all(shared, file, bench));
    sought.inspect_err(|_| shared.is_over.store(true, Relaxed))
}

fn seek_all(shared: &Shared, file: OwnedFd, mut bench: ThreadBench) -> Result<Sought, Fault> {
    let mut hands = Hands::new(shared);
    let mut sought = Sought::default();
    let mut next = shared.tickets.take();
    let has_work = next.is_some();
    // A seeker that came too late for a ticket has no span.
    if has_work {
        bench.span_begins();
    }
    let before_ns = cpu_ns();
    while let Some(ticket) = next {
        hands.serve(&file, ticket, &mut bench, &mut sought)?;
        interrupt::check()?;
        next = shared.tickets.take().filter(|_| !shared.is_over.load(Relaxed));
    }
    fsync_and_close(file, shared.path)?;
    sought.original.cpu_ns = cpu_ns() - before_ns;
    if has_work {
        bench.span_ends();
    }
    if shared.settings.is_bonnie {
        // The seeker that ends first removes the file; the others find it gone.
        match rustix::fs::unlink(shared.path) {
            Err(rustix::io::Errno::NOENT) => {}
            removed => removed.map_err(fault("unlink", shared.path))?,
        }
    }
    Ok(sought)
}

struct Hands<'a> {
    shared: &'a Shared<'a>,
    places: Places,
    buffer: AlignedBuffer,
    expected: Vec<u8>,
    served: u64,
}

impl<'a> Hands<'a> {
    fn new(shared: &'a Shared<'a>) -> Hands<'a> {
        let chunk_bytes = shared.settings.chunk_bytes;
        Hands {
            places: Places::of(&Phase::Seeks.kinds(shared.settings)),
            buffer: AlignedBuffer::zeroed(chunk_bytes),
            expected: Vec::with_capacity(chunk_bytes),
            served: 0,
            shared,
        }
    }

    fn serve(
        &mut self,
        file: &OwnedFd,
        ticket: Ticket,
        bench: &mut ThreadBench,
        sought: &mut Sought,
    ) -> Result<(), Fault> {
        let chunk_bytes = self.shared.settings.chunk_bytes as u64;
        let (path, offset_bytes) = (self.shared.path, ticket.chunk * chunk_bytes);
        let start_ns = bench.now_ns();
        seek(file.as_fd(), SeekFrom::Start(offset_bytes), path)?;
        read_full(file.as_fd(), &mut self.buffer, path)?;
        let mut end_ns = self.places.until_now(bench, Kind::Read, start_ns, offset_bytes);
        sought.bytes += chunk_bytes;
        if self.served % CHECK_EVERY == 0 {
            self.check(ticket, offset_bytes, sought)?;
        }
        self.served += 1;
        if ticket.is_update {
            end_ns += self.update(file, ticket, bench)?;
            sought.bytes += chunk_bytes;
        }
        sought.original.note(end_ns - start_ns);
        Ok(())
    }

    /// Writes the chunk back with one byte lowered; gives the time that it took.
    fn update(
        &mut self,
        file: &OwnedFd,
        ticket: Ticket,
        bench: &mut ThreadBench,
    ) -> Result<u64, Fault> {
        let settings = self.shared.settings;
        let (path, chunk_bytes) = (self.shared.path, settings.chunk_bytes);
        let offset_bytes = ticket.chunk * chunk_bytes as u64;
        let place = ticket.chunk as usize & (chunk_bytes - 1);
        self.buffer[place] = self.buffer[place].wrapping_sub(1);
        let start_ns = bench.now_ns();
        seek(file.as_fd(), SeekFrom::Start(offset_bytes), path)?;
        write_all(file.as_fd(), &self.buffer, path)?;
        let mut end_ns = self.places.until_now(bench, Kind::Update, start_ns, offset_bytes);
        if settings.fsync_updates {
            let written_ns = end_ns;
            calls::fsync(file.as_fd(), path)?;
            end_ns = self.places.until_now(bench, Kind::Fsync, written_ns, offset_bytes);
        }
        Ok(end_ns - start_ns)
    }

    fn check(
        &mut self,
        ticket: Ticket,
        offset_bytes: u64,
        sought: &mut Sought,
    ) -> Result<(), Fault> {
        let Some(content) = self.shared.content else { return Ok(()) };
        let (found, expected) = (&self.buffer, &mut self.expected);
        let place = content.difference(ticket.chunk, found, Expected::Updated, expected);
        sought.checked += 1;
        differs(place, self.shared.path, offset_bytes)
    }
}
