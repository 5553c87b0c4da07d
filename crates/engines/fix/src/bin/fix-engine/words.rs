use std::{net::SocketAddr, path::PathBuf, time::Duration};

use pickfs_fix::Wait;
use pickfs_fix::engine::Settings;
use pickfs_fix::market::Limits;
use pickfs_fix::store::{FILE_BYTES, Profile};
use pickfs_pair::{Degree, OnDiverged, OnLoss, Transport};

pub(crate) const USE: &str =
    "use: fix-engine DIR [--store memory|queue|journal|journal-fdatasync|file-store|pair]
                  [--file-bytes N] [--orders-max N] [--listen ADDRESS:PORT] [--comp-id NAME]
                  [--wait spin|sleep] [--cpu N]
store pair:       [--secondary ADDRESS:PORT]... [--follow ADDRESS:PORT] [--node N] [--copies K]
                  [--degree none|local|received|durable] [--on-loss stop|degrade]
                  [--on-diverged refuse|set-aside] [--patience MILLISECONDS]
                  [--transport tcp|aeron]";

pub(crate) struct Words {
    pub(crate) directory: PathBuf,
    pub(crate) profile: Profile,
    pub(crate) file_bytes: u64,
    pub(crate) market: Limits,
    pub(crate) listen: SocketAddr,
    pub(crate) comp_id: String,
    pub(crate) wait: Wait,
    pub(crate) cpu: Option<usize>,
    pub(crate) pair: PairWords,
}

pub(crate) struct PairWords {
    pub(crate) secondaries: Vec<SocketAddr>,
    pub(crate) follow: Option<SocketAddr>,
    pub(crate) node: Option<u8>,
    pub(crate) degree: Degree,
    pub(crate) copies: usize,
    pub(crate) on_loss: OnLoss,
    pub(crate) transport: Transport,
    pub(crate) on_diverged: OnDiverged,
    pub(crate) patience: Duration,
}

fn either<T>(value: &str, choices: [(&str, T); 2]) -> Option<T> {
    choices.into_iter().find(|(word, _)| *word == value).map(|(_, choice)| choice)
}

impl Words {
    pub(crate) fn read(mut given: impl Iterator<Item = String>) -> Option<Words> {
        let mut words = Words {
            directory: given.next()?.into(),
            profile: Profile::Queue,
            file_bytes: FILE_BYTES,
            market: Limits::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            comp_id: Settings::default().comp_id,
            wait: Wait::Sleep,
            cpu: None,
            pair: PairWords::default(),
        };
        while let Some(word) = given.next() {
            words.take(&word, &given.next()?)?;
        }
        Some(words)
    }

    fn take(&mut self, word: &str, value: &str) -> Option<()> {
        match word {
            "--store" => self.profile = Profile::of(value)?,
            "--file-bytes" => self.file_bytes = value.parse().ok()?,
            "--orders-max" => self.market.orders_max = value.parse().ok()?,
            "--listen" => self.listen = value.parse().ok()?,
            "--comp-id" => self.comp_id = value.into(),
            "--wait" => self.wait = either(value, [("spin", Wait::Spin), ("sleep", Wait::Sleep)])?,
            "--cpu" => self.cpu = Some(value.parse().ok()?),
            _ => self.pair.take(word, value)?,
        }
        Some(())
    }
}

impl Default for PairWords {
    fn default() -> Self {
        PairWords {
            secondaries: Vec::new(),
            follow: None,
            node: None,
            degree: Degree::Received,
            copies: 1,
            on_loss: OnLoss::Stop,
            transport: Transport::default(),
            on_diverged: OnDiverged::Refuse,
            patience: Duration::from_secs(10),
        }
    }
}

impl PairWords {
    fn take(&mut self, word: &str, value: &str) -> Option<()> {
        let (losses, diverged) = (
            [("stop", OnLoss::Stop), ("degrade", OnLoss::Degrade)],
            [("refuse", OnDiverged::Refuse), ("set-aside", OnDiverged::SetAside)],
        );
        match word {
            "--secondary" => self.secondaries.push(value.parse().ok()?),
            "--follow" => self.follow = Some(value.parse().ok()?),
            "--node" => self.node = Some(value.parse().ok()?),
            "--degree" => {
                self.degree = Degree::ALL.into_iter().find(|degree| degree.name() == value)?
            }
            "--copies" => self.copies = value.parse().ok()?,
            "--on-loss" => self.on_loss = either(value, losses)?,
            "--on-diverged" => self.on_diverged = either(value, diverged)?,
            "--transport" => self.transport = Transport::of_name(value)?,
            "--patience" => self.patience = Duration::from_millis(value.parse().ok()?),
            _ => return None,
        }
        Some(())
    }
}
