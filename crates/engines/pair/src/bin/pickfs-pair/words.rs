use std::{collections::HashMap, net::SocketAddr, path::PathBuf, time::Duration};

use pickfs_pair::{
    Degree, OnDiverged, OnLoss, PrimaryOptions, SecondaryOptions, StoreOptions, Transport, Waiting,
};
use pickfs_queue as queue;

pub(crate) fn usage() -> &'static str {
    "pickfs-pair primary   --dir DIR [--secondary ADDRESS]... [--listen ADDRESS] [--node N]
                      [--degree none|local|received|durable] [--copies K]
                      [--on-loss stop|degrade] [--buffer BYTES]
pickfs-pair secondary --dir DIR --listen ADDRESS [--node N]
                      [--on-diverged refuse|set-aside]; after a promotion as primary
both                  [--store journal|queue] [--sync none|fdatasync]
                      [--timeout MILLISECONDS] [--waiting block|spin] [--transport tcp|aeron]
pickfs-pair promote --dir DIR     make this node the primary
pickfs-pair status --dir DIR      its number, epoch and last message
pickfs-pair dump --dir DIR [--from N]
"
}

const KNOWN: &str = "dir secondary listen node degree copies on-loss buffer on-diverged store sync \
    timeout waiting transport from file-bytes";

pub(crate) struct Words(HashMap<String, Vec<String>>);

impl Words {
    pub(crate) fn read(mut given: impl Iterator<Item = String>) -> Result<Words, String> {
        let mut words: HashMap<String, Vec<String>> = HashMap::new();
        while let Some(word) = given.next() {
            let name =
                word.strip_prefix("--").filter(|name| KNOWN.split(' ').any(|known| known == *name));
            let name = name.ok_or_else(|| format!("`{word}` is not known\n{}", usage()))?;
            let value = given.next().ok_or_else(|| format!("--{name} needs a value"))?;
            words.entry(name.into()).or_default().push(value);
        }
        Ok(Words(words))
    }

    fn last(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    pub(crate) fn dir(&self) -> Result<PathBuf, String> {
        self.last("dir").map(PathBuf::from).ok_or_else(|| "--dir DIR is missing".into())
    }

    pub(crate) fn number(&self, name: &str, otherwise: u64) -> Result<u64, String> {
        let Some(text) = self.last(name) else { return Ok(otherwise) };
        text.parse().map_err(|_| format!("--{name} {text}: give a whole number"))
    }

    fn one_of<T: Copy>(&self, name: &str, values: &[(&str, T)]) -> Result<T, String> {
        let text = self.last(name).unwrap_or(values[0].0);
        let known = || values.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let found = values.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| *value).ok_or_else(|| format!("--{name} {text}: give {}", known()))
    }

    fn addresses(&self, name: &str) -> Result<Vec<SocketAddr>, String> {
        let texts = self.0.get(name).map_or(&[][..], Vec::as_slice);
        let wrong =
            |text: &String| format!("--{name} {text}: give ADDRESS:PORT, like 10.0.0.2:7300");
        texts.iter().map(|text| text.parse().map_err(|_| wrong(text))).collect()
    }

    pub(crate) fn listen(&self) -> Result<Option<SocketAddr>, String> {
        Ok(self.addresses("listen")?.pop())
    }

    fn node(&self, otherwise: u64) -> Result<u8, String> {
        let node = self.number("node", otherwise)?;
        u8::try_from(node).map_err(|_| format!("--node {node}: give 1 to 255"))
    }

    fn timeout(&self) -> Result<Duration, String> {
        self.number("timeout", 1_000).map(Duration::from_millis)
    }

    fn waiting(&self) -> Result<Waiting, String> {
        self.one_of("waiting", &[("block", Waiting::Block), ("spin", Waiting::Spin)])
    }

    fn transport(&self) -> Result<Transport, String> {
        let known = Transport::ALL.map(|transport| (transport.name(), transport));
        self.one_of("transport", &known)
    }

    fn store(&self) -> Result<StoreOptions, String> {
        let is_queue = self.one_of("store", &[("journal", false), ("queue", true)])?;
        let syncs = self.one_of("sync", &[("none", false), ("fdatasync", true)])?;
        let file_bytes = self.number("file-bytes", 64 << 20)?;
        Ok(match (is_queue, syncs) {
            (true, syncs) => {
                let sync = if syncs { queue::Sync::Fdatasync } else { queue::Sync::None };
                let segment_bytes = file_bytes;
                StoreOptions::Queue(queue::Options { sync, segment_bytes, ..Default::default() })
            }
            (false, syncs) => {
                use pickfs_journal::{Options, Sync};
                let sync = if syncs { Sync::Fdatasync } else { Sync::None };
                StoreOptions::Journal(Options { sync, file_bytes, ..Default::default() })
            }
        })
    }

    pub(crate) fn primary(&self, node: u64) -> Result<PrimaryOptions, String> {
        let degrees = [Degree::Received, Degree::None, Degree::Local, Degree::Durable];
        let loss = [("stop", OnLoss::Stop), ("degrade", OnLoss::Degrade)];
        let options = PrimaryOptions::new(self.dir()?, self.addresses("secondary")?);
        Ok(PrimaryOptions {
            node: self.node(node)?,
            store: self.store()?,
            degree: self.one_of("degree", &degrees.map(|degree| (degree.name(), degree)))?,
            copies: self.number("copies", 1)? as usize,
            on_loss: self.one_of("on-loss", &loss)?,
            timeout: self.timeout()?,
            buffer_bytes: self.number("buffer", options.buffer_bytes as u64)? as usize,
            waiting: self.waiting()?,
            transport: self.transport()?,
            ..options
        })
    }

    pub(crate) fn secondary(&self) -> Result<SecondaryOptions, String> {
        let listen = self.listen()?.ok_or("--listen ADDRESS is missing")?;
        let diverged = [("refuse", OnDiverged::Refuse), ("set-aside", OnDiverged::SetAside)];
        Ok(SecondaryOptions {
            node: self.node(2)?,
            store: self.store()?,
            on_diverged: self.one_of("on-diverged", &diverged)?,
            timeout: self.timeout()?,
            waiting: self.waiting()?,
            transport: self.transport()?,
            ..SecondaryOptions::new(self.dir()?, listen)
        })
    }
}
