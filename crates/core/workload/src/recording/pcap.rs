//! The classic capture format, with microseconds or nanoseconds, in either byte order. Not pcapng.
//!
//! ```text
//! file    | magic 4 | version 4 | zone 4 | sigfigs 4 | snaplen 4 | link type 4 | packets ...
//! packet  | seconds 4 | fraction 4 | captured bytes 4 | bytes on the wire 4 | captured ...
//! ```
//!
//! Source: draft-ietf-opsawg-pcap; RFC 791, 8200, 9293, 768 for the lengths within a packet.

use super::EMPTY;

const FILE_HEADER_BYTES: usize = 24;
const PACKET_HEADER_BYTES: usize = 16;
const PCAPNG: &str = "this is a pcapng file; convert it with: editcap -F pcap IN OUT";
const PCAPNG_MAGIC: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

type WordOf = fn([u8; 4]) -> u32;

/// Byte order and nanoseconds per unit of the fraction, by the first four bytes.
fn kind(bytes: &[u8]) -> Option<(WordOf, u64)> {
    match bytes.get(..4)? {
        [0xD4, 0xC3, 0xB2, 0xA1] => Some((u32::from_le_bytes, 1_000)),
        [0xA1, 0xB2, 0xC3, 0xD4] => Some((u32::from_be_bytes, 1_000)),
        [0x4D, 0x3C, 0xB2, 0xA1] => Some((u32::from_le_bytes, 1)),
        [0xA1, 0xB2, 0x3C, 0x4D] => Some((u32::from_be_bytes, 1)),
        _ => None,
    }
}

pub(super) fn is_pcap(bytes: &[u8]) -> bool {
    kind(bytes).is_some() || bytes.starts_with(&PCAPNG_MAGIC)
}

pub(super) fn messages(bytes: &[u8]) -> Result<Vec<(u64, u32)>, String> {
    let Some((order, fraction_ns)) = kind(bytes) else {
        let is_pcapng = bytes.starts_with(&PCAPNG_MAGIC);
        return Err(if is_pcapng { PCAPNG } else { EMPTY }.into());
    };
    let word = |at: usize| {
        let word = bytes.get(at..)?.first_chunk::<4>()?;
        Some(order(*word))
    };
    let link = word(20).ok_or(EMPTY)?;
    let mut messages = Vec::new();
    let (mut at, mut number) = (FILE_HEADER_BYTES, 1);
    while at < bytes.len() {
        let read = || {
            let time_ns =
                u64::from(word(at)?) * 1_000_000_000 + u64::from(word(at + 4)?) * fraction_ns;
            let start = at + PACKET_HEADER_BYTES;
            let packet = bytes.get(start..start.checked_add(word(at + 8)? as usize)?)?;
            Some((time_ns, packet, word(at + 12)?))
        };
        let (time_ns, packet, wire_bytes) = read().ok_or_else(|| {
            format!("packet {number} at offset {at} is cut or malformed; capture again or cut the file there")
        })?;
        match payload_bytes(link, packet, wire_bytes) {
            0 => {}
            bytes => messages.push((time_ns, bytes)),
        }
        at += PACKET_HEADER_BYTES + packet.len();
        number += 1;
    }
    Ok(messages)
}

const LINK_ETHERNET: u32 = 1;
const LINK_RAW_IP: u32 = 101;
const LINK_LINUX_COOKED: u32 = 113;

/// Bytes of the message in a packet: the payload of TCP or UDP; the whole packet where that is
/// neither, or where its headers were not captured.
fn payload_bytes(link: u32, packet: &[u8], wire_bytes: u32) -> u32 {
    let ip = match link {
        LINK_RAW_IP => Some(packet),
        LINK_LINUX_COOKED => packet.get(16..),
        LINK_ETHERNET => ethernet_payload(packet),
        _ => None,
    };
    ip.and_then(transport_payload_bytes).unwrap_or(wire_bytes)
}

/// Behind the two addresses and any VLAN tags.
fn ethernet_payload(packet: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    while matches!(packet.get(at..at + 2)?, [0x81, 0x00] | [0x88, 0xA8]) {
        at += 4;
    }
    packet.get(at + 2..)
}

fn transport_payload_bytes(ip: &[u8]) -> Option<u32> {
    let half = |at: usize| ip.get(at..)?.first_chunk::<2>().map(|half| u16::from_be_bytes(*half));
    let (protocol, header, ip_payload) = match ip.first()? >> 4 {
        4 => {
            let header = usize::from(ip[0] & 0xF) * 4;
            (*ip.get(9)?, header, usize::from(half(2)?).checked_sub(header)?)
        }
        6 => (*ip.get(6)?, 40, usize::from(half(4)?)),
        _ => return None,
    };
    let transport_header = match protocol {
        6 => usize::from(ip.get(header + 12)? >> 4) * 4,
        17 => 8,
        _ => return None,
    };
    Some(ip_payload.checked_sub(transport_header)? as u32)
}

#[cfg(test)]
pub(super) fn file_of(link: u32, packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = vec![0xD4, 0xC3, 0xB2, 0xA1];
    file.extend([0; 16]);
    file.extend(link.to_le_bytes());
    for (seconds, fraction, packet) in packets {
        let length = packet.len() as u32;
        for word in [*seconds, *fraction, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend_from_slice(packet);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp_packet(payload: usize) -> Vec<u8> {
        let mut packet = vec![0; 14 + 40 + payload];
        packet[12..14].copy_from_slice(&[0x08, 0x00]);
        packet[14] = 0x45;
        packet[16..18].copy_from_slice(&(40 + payload as u16).to_be_bytes());
        packet[23] = 6;
        packet[14 + 20 + 12] = 0x50;
        packet
    }

    #[test]
    fn payloads_are_messages_and_bare_acknowledgements_are_not() {
        let (ack, order) = (tcp_packet(0), tcp_packet(180));
        let file = file_of(LINK_ETHERNET, &[(5, 1, &ack), (5, 2, &order), (6, 0, &order)]);
        assert_eq!(messages(&file), Ok(vec![(5_000_002_000, 180), (6_000_000_000, 180)]));
    }

    #[test]
    fn an_unknown_link_counts_the_whole_packet() {
        let file = file_of(12345, &[(0, 0, &[9; 77])]);
        assert_eq!(messages(&file), Ok(vec![(0, 77)]));
    }

    #[test]
    fn a_cut_packet_is_named_with_its_place() {
        let mut file = file_of(LINK_RAW_IP, &[(0, 0, &[9; 10]), (0, 0, &[9; 10])]);
        file.truncate(file.len() - 1);
        let error = messages(&file).unwrap_err();
        assert!(error.starts_with("packet 2 at offset 50 is cut"), "{error}");
        assert_eq!(messages(&PCAPNG_MAGIC), Err(PCAPNG.into()));
    }
}
