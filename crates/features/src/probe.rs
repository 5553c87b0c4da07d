//! One question: what it is called, and the function that asks it.

use pickfs_model::features::{Answer, Capability, Group};

use crate::refusal::Asking;
use crate::room::Room;

/// A question to a mounted file system.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Its names.
    pub capability: Capability,
    ask: fn(&Room) -> Asking,
}

impl Probe {
    /// A question of a group.
    pub const fn new(
        group: Group,
        key: &'static str,
        label: &'static str,
        how: &'static str,
        ask: fn(&Room) -> Asking,
    ) -> Self {
        Self { capability: Capability { key, label, group, how }, ask }
    }

    /// Asks in a fresh folder within the room.
    pub fn ask(&self, room: &Room) -> Answer {
        let asked = room.inner(self.capability.key).and_then(|inner| (self.ask)(&inner));
        asked.unwrap_or_else(|refusal| refusal.answer(room.is_root))
    }
}
