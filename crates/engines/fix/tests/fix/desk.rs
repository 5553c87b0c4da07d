//! An engine and its client without a socket between them, and engines behind one.

use std::net::SocketAddr;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use std::thread::{self, JoinHandle};

use crate::peer::{Told, at, order, told};
use pickfs_fix::codec::Version;
use pickfs_fix::engine::{Engine, EngineError, Settings};
use pickfs_fix::market::Risk;
use pickfs_fix::store::{LogStore, MemoryLog, Store};
use pickfs_fix::{Acceptor, Client, Wait, now};

pub fn memory() -> Box<dyn Store> {
    Box::new(LogStore::new(MemoryLog::default()))
}

pub fn new_client() -> Client {
    Client::new(Version::Fix44, "CLIENT", "PICKFS", true)
}

pub struct Desk {
    pub engine: Engine,
    pub client: Client,
    pub number: usize,
    pub told: Vec<Told>,
}

impl Desk {
    pub fn open(store: Box<dyn Store>, risk: Option<Box<dyn Risk>>, client: Client) -> Desk {
        let engine = Engine::observed(Settings::default(), store, at(0), (), risk).unwrap();
        Desk::new(engine, client)
    }

    /// It has logged on, and been told what it missed.
    pub fn new(engine: Engine, client: Client) -> Desk {
        let mut desk = Desk { engine, client, number: 0, told: Vec::new() };
        desk.connect();
        desk.exchange();
        desk
    }

    /// A Logon waits to be sent then.
    pub fn connect(&mut self) {
        self.client.disconnected();
        self.client.connected(at(1));
        self.number = self.engine.connect(at(1)).unwrap();
    }

    /// Another client in the same session, which knows our numbers alone.
    pub fn forget(mut self) -> Desk {
        let next_out = self.client.session().next_out();
        let mut client = new_client();
        client.session().go_on(None, Some(next_out));
        self.engine.disconnect(self.number);
        Desk::new(self.engine, client)
    }

    pub fn order(&mut self, name: &str) {
        self.client.send(b"D", at(1), |message| order(message, name, "1", 5, "7", at(1)));
    }

    /// Until neither has anything to say.
    pub fn exchange(&mut self) {
        while self.hand_over().unwrap() {}
    }

    fn hand_over(&mut self) -> Result<bool, EngineError> {
        self.send()?;
        self.engine.idle(at(1))?;
        let outbox = self.engine.outbox(self.number).unwrap();
        let bytes = outbox.waiting().to_vec();
        outbox.pass(bytes.len());
        let list = &mut self.told;
        self.client.receive(&bytes, at(1), |message| list.push(told(message)));
        Ok(!bytes.is_empty() || !self.client.outbox().is_empty())
    }

    pub fn send(&mut self) -> Result<(), EngineError> {
        let sent = std::mem::take(self.client.outbox());
        self.engine.receive(self.number, &sent, at(1))
    }

    /// Name and ExecType of what was told since the last time.
    pub fn news(&mut self) -> Vec<(String, String)> {
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|(name, exec_type, _)| (name, exec_type)).collect()
    }
}

/// An engine behind a port, on a thread of its own.
pub struct Serving {
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), EngineError>>>,
}

impl Serving {
    pub fn start(store: Box<dyn Store>, wait: Wait) -> Serving {
        let engine = Engine::open(Settings::default(), store, now()).unwrap();
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut acceptor = Acceptor::listen(engine, any_port, wait).unwrap();
        let (address, over) = (acceptor.address().unwrap(), Arc::<AtomicBool>::default());
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            while !told.load(Relaxed) {
                acceptor.round()?;
            }
            Ok(())
        });
        Serving { address, over, thread: Some(thread) }
    }

    /// Waits until it ends by itself.
    pub fn end(mut self) -> EngineError {
        self.thread.take().unwrap().join().unwrap().unwrap_err()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
