//! A request is written at one end and read at the other; the answer goes the other way.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
};

use pickfs_workload::fault::Fault;

pub(super) struct Client {
    theirs: TcpStream,
    ours: TcpStream,
    request: Vec<u8>,
}

fn fault(error: std::io::Error) -> Fault {
    Fault::Failed { reason: format!("the client's connection on loopback: {error}") }
}

impl Client {
    pub(super) fn new(request_bytes: usize) -> Result<Client, Fault> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(fault)?;
        let address = listener.local_addr().map_err(fault)?;
        let theirs = TcpStream::connect(address).map_err(fault)?;
        let (ours, _) = listener.accept().map_err(fault)?;
        for end in [&theirs, &ours] {
            end.set_nodelay(true).map_err(fault)?;
        }
        Ok(Client { theirs, ours, request: vec![0; request_bytes] })
    }

    #[inline]
    pub(super) fn ask(&mut self, payload: &[u8]) -> Result<&[u8], Fault> {
        self.theirs.write_all(payload).map_err(fault)?;
        self.ours.read_exact(&mut self.request).map_err(fault)?;
        Ok(&self.request)
    }

    #[inline]
    pub(super) fn answer(&mut self, word: u64) -> Result<u64, Fault> {
        let mut answer = word.to_le_bytes();
        self.ours.write_all(&answer).map_err(fault)?;
        self.theirs.read_exact(&mut answer).map_err(fault)?;
        Ok(u64::from_le_bytes(answer))
    }
}
