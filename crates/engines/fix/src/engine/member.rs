use crate::codec::{Header, Version};
use crate::session::{Names, Role, Session, Timing};

use super::core::ConnectionNumber;

pub(super) struct Member {
    pub(super) session: Session,
    pub(super) version: Version,
    pub(super) peer: Vec<u8>,
    pub(super) connection: Option<ConnectionNumber>,
}

impl Member {
    pub(super) fn new(version: Version, peer: &[u8], timing: Timing) -> Member {
        let session = Session::new(Role::Acceptor, timing);
        Member { session, version, peer: peer.to_vec(), connection: None }
    }

    #[inline]
    pub(super) fn names<'a>(&'a self, comp_id: &'a str) -> Names<'a> {
        Names { version: self.version, us: comp_id.as_bytes(), peer: &self.peer }
    }

    /// `FIX.4.4-PEER`
    pub(super) fn name(&self) -> Vec<u8> {
        [self.version.text().as_bytes(), b"-", &self.peer].concat()
    }

    pub(super) fn named(name: &[u8], timing: Timing) -> Option<Member> {
        let dash = name.iter().position(|byte| *byte == b'-')?;
        let version = Version::of(&name[..dash])?;
        Some(Member::new(version, &name[dash + 1..], timing))
    }

    #[inline]
    pub(super) fn is_of(&self, header: &Header<'_>) -> bool {
        header.version == Some(self.version) && header.sender == self.peer
    }
}
