//! How a primary begins: only as the first of its pair, in its own place again, or promoted.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;
use std::time::Instant;

use super::{Primary, Seat, payload_bytes_max};
use crate::dialer::{Dialer, Origin, Told};
use crate::doorkeeper::Doorkeeper;
use crate::epoch::{Begin, Epoch};
use crate::error::{Error, Result};
use crate::event::Events;
use crate::gate::{Gate, Seen};
use crate::options::{Degree, PrimaryOptions};
use crate::outbox::Outbox;
use crate::state::{NodeDir, State};
use crate::store::Store;
use crate::wire::{ENTRY_HEAD_BYTES, Wants};

impl Primary {
    /// The first primary of a new pair in an empty directory, or this node in the place of its
    /// last reign. [`Error::Fenced`] when it has promised to follow another: see
    /// [`crate::promote`].
    pub fn open(options: PrimaryOptions) -> Result<Primary> {
        options.validate()?;
        let node = NodeDir::open(&options.dir, options.node)?;
        Primary::reign(options, node, None)
    }

    /// With a listener that was a secondary's, where there was one.
    pub(crate) fn reign(
        options: PrimaryOptions,
        mut node: NodeDir,
        listening: Option<Doorkeeper>,
    ) -> Result<Primary> {
        let store = Store::open(&node.store_dir(), &options.store)?;
        let last = store.last();
        let epoch = begin_reign(&mut node, last.sequence, options.identity)?;
        let told = Arc::new(Told::default());
        told.appended.store(last.sequence, Release);
        told.oldest.store(last.sequence + 1, Release);
        told.inherited.store(last.sequence, Release);
        told.history().clone_from(&node.state.history);
        let origin = Origin {
            identity: node.state.identity,
            epoch,
            node: options.node,
            wants: if options.degree == Degree::Durable { Wants::Durable } else { Wants::Received },
            store_dir: node.store_dir(),
            transport: options.transport,
            timeout: options.timeout,
            told: Arc::clone(&told),
        };
        let seats = options.secondaries.iter().map(|peer| seat(*peer, &origin));
        let payload_bytes_max = payload_bytes_max(&store, options.buffer_bytes);
        let mut primary = Primary {
            seats: seats.collect::<Result<_>>()?,
            gate: Gate::new(options.degree, options.copies, options.on_loss),
            outbox: Outbox::new(options.buffer_bytes, last.sequence + 1),
            frame: Vec::with_capacity(ENTRY_HEAD_BYTES + payload_bytes_max),
            payload_bytes_max,
            appended: last.sequence,
            local: last.sequence,
            inherited: last.sequence,
            joined: None,
            begun: Vec::new(),
            events: Events::new(),
            doorkeeper: listening,
            chores_at: Instant::now(),
            fenced: None,
            _shared: options.transport.begin()?,
            options,
            node,
            epoch,
            store,
            told,
        };
        if let Some(doorkeeper) = &mut primary.doorkeeper {
            doorkeeper.reign(epoch);
        }
        Ok(primary)
    }

    /// Listens, so that a later primary can say that this one is over, and a second one of the same pair is
    /// refused. Without it this node learns that from its secondaries alone.
    pub fn listen(&mut self, address: SocketAddr) -> Result<()> {
        let mut doorkeeper = Doorkeeper::bind(self.options.transport, address)?;
        doorkeeper.reign(self.epoch);
        self.doorkeeper = Some(doorkeeper);
        Ok(())
    }
}

fn seat(peer: SocketAddr, origin: &Origin) -> Result<Seat> {
    let dialer = Dialer::start(peer, origin.clone())?;
    Ok(Seat { peer, dialer, link: None, left: Seen::default(), absent: String::new() })
}

/// The epoch of a new reign is on the disk before the reign begins.
fn begin_reign(node: &mut NodeDir, last_sequence: u64, identity: u64) -> Result<Epoch> {
    let mut state = node.state.clone();
    state.epoch = match state.epoch {
        Epoch::NONE => Epoch::NONE.promoted(state.node),
        epoch if epoch.node() == state.node => epoch.restarted(),
        epoch => {
            let mine = state.history.last().map_or(Epoch::NONE, |begin| begin.epoch);
            let peer = format!("the promise of node {} in {}", state.node, node.dir().display());
            return Err(Error::Fenced { mine, theirs: epoch, peer });
        }
    };
    if state.identity == 0 {
        state.identity = if identity == 0 { new_identity() } else { identity };
    }
    let epoch = state.epoch;
    state.history.retain(|begin| begin.first_sequence <= last_sequence);
    state.history.push(Begin { epoch, first_sequence: last_sequence + 1 });
    node.keep(state)?;
    Ok(epoch)
}

/// Nobody guesses it.
pub fn new_identity() -> u64 {
    RandomState::new().hash_one(0).max(1)
}

/// Makes the node in `dir`, which no process has open, the primary-to-be: its next start as a primary begins a new
/// epoch, which outranks all that it knows of. Nothing else is asked and nobody is told: see the documentation for
/// what that means. Gives the
/// epoch.
///
/// A node that runs is promoted by [`crate::request_promotion`].
pub fn promote(dir: &Path) -> Result<Epoch> {
    let Some(state) = crate::state::read(dir)? else {
        let reason = "there is no node here".into();
        return Err(Error::State { path: dir.to_path_buf(), reason });
    };
    let mut node = NodeDir::open(dir, state.node)?;
    promote_node(&mut node)
}

/// The promise to follow oneself, over all that was promised before.
pub(crate) fn promote_node(node: &mut NodeDir) -> Result<Epoch> {
    let epoch = node.state.epoch.promoted(node.state.node);
    node.keep(State { epoch, ..node.state.clone() })?;
    Ok(epoch)
}
