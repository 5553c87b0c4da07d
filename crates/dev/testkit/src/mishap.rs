pub type Mishaps = Vec<Mishap>;

#[derive(Debug, Clone)]
pub struct Mishap {
    pub label: String,
    /// Every one when empty.
    pub sync: String,
    /// From 1; every block when 0.
    pub block: u32,
    pub kind: MishapKind,
}

#[derive(Debug, Clone)]
pub enum MishapKind {
    Failed(String),
    /// Reason and remedy.
    Skipped(String, String),
    /// Others took CPU; the values are multiplied by this, and a clean second attempt follows.
    Disturbed(f64),
    /// The last third is slower than the first one by this factor.
    Unsteady(f64),
    /// A CPU quota stopped it so many times.
    Throttled(u64),
    /// Bytes of holes, and direct I/O or not.
    Image(u64, bool),
    /// Only this share of the rate was held.
    RateMissed(f64),
    /// A flag that the lab sets: kind and text.
    Flagged(String, String),
}

impl Mishap {
    pub fn new(label: &str, sync: &str, block: u32, kind: MishapKind) -> Self {
        Mishap { label: label.into(), sync: sync.into(), block, kind }
    }

    pub fn failed(label: &str, sync: &str, block: u32, reason: &str) -> Self {
        Mishap::new(label, sync, block, MishapKind::Failed(reason.into()))
    }

    pub fn skipped(label: &str, reason: &str, remedy: &str) -> Self {
        Mishap::new(label, "", 0, MishapKind::Skipped(reason.into(), remedy.into()))
    }

    /// A trial from which others took CPU, `factor` times slower, repeated once.
    pub fn disturbed(label: &str, sync: &str, block: u32, factor: f64) -> Self {
        Mishap::new(label, sync, block, MishapKind::Disturbed(factor))
    }

    pub fn hits(&self, label: &str, sync: &str, block: u32) -> bool {
        self.label == label
            && (self.sync.is_empty() || self.sync == sync)
            && (self.block == 0 || self.block == block)
    }
}
