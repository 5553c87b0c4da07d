//! The parser of frames, fuzzed: it gives back what was encoded, waits for what has not come, refuses what was
//! changed, and survives anything else.

use pickfs_pair::wire::{
    ENTRY_HEAD_BYTES, FRAME_BYTES_MAX, Flaw, Frame, Greeting, MAGIC, Reason, Wants, parse, record,
};
use pickfs_pair::{Epoch, Position};
use proptest::prelude::*;

fn epoch() -> impl Strategy<Value = Epoch> {
    any::<u64>().prop_map(Epoch::from_bits)
}

fn position() -> impl Strategy<Value = Position> {
    (epoch(), any::<u64>()).prop_map(|(epoch, sequence)| Position { epoch, sequence })
}

fn greeting() -> impl Strategy<Value = Greeting> {
    (any::<u64>(), epoch(), any::<u8>(), position())
        .prop_map(|(identity, epoch, node, last)| Greeting { identity, epoch, node, last })
}

static PAYLOAD: [u8; 300] = [0xA5; 300];

fn frame() -> impl Strategy<Value = Frame<'static>> {
    let wants = prop_oneof![Just(Wants::Received), Just(Wants::Durable)];
    let reason = prop_oneof![
        Just(Reason::Fenced),
        Just(Reason::Identity),
        Just(Reason::Diverged),
        Just(Reason::NoSync),
        Just(Reason::Gone),
        Just(Reason::Primary),
    ];
    prop_oneof![
        (greeting(), wants).prop_map(|(greeting, wants)| Frame::Hello { greeting, wants }),
        greeting().prop_map(Frame::Join),
        (reason, epoch()).prop_map(|(reason, epoch)| Frame::Refused { reason, epoch }),
        (position(), 0..PAYLOAD.len())
            .prop_map(|(at, length)| Frame::Entry { at, payload: &PAYLOAD[..length] }),
        (epoch(), any::<u64>())
            .prop_map(|(epoch, last_sequence)| Frame::Beat { epoch, last_sequence }),
        any::<u64>().prop_map(|from| Frame::Fetch { from }),
        (epoch(), any::<u64>(), any::<u64>()).prop_map(|(epoch, received, durable)| Frame::Ack {
            epoch,
            received,
            durable
        }),
    ]
}

proptest! {
    #[test]
    fn frames_come_back_one_after_the_other(frames in prop::collection::vec(frame(), 1..8)) {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        let mut rest = &bytes[..];
        for frame in &frames {
            let (parsed, length) = parse(rest).unwrap().unwrap();
            prop_assert_eq!(parsed, *frame);
            rest = &rest[length..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn a_frame_that_has_not_come_whole_is_waited_for(frame in frame(), cut in 0.0..1.0) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let cut = (bytes.len() as f64 * cut) as usize;
        prop_assert_eq!(parse(&bytes[..cut]), Ok(None));
    }

    #[test]
    fn a_changed_bit_is_never_a_frame(frame in frame(), place in 0.0..1.0, bit in 0..8u32) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let at = (bytes.len() as f64 * place) as usize;
        bytes[at] ^= 1 << bit;
        // A length that grew may be waited for; whatever comes behind it, the checksum will not fit.
        prop_assert!(!matches!(parse(&bytes), Ok(Some(_))));
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let mut behind_magic = MAGIC.to_le_bytes().to_vec();
        behind_magic.extend_from_slice(&bytes);
        let _ = parse(&behind_magic);
        let _ = record(&bytes);
    }
}

#[test]
fn a_frame_of_another_program_and_one_that_is_too_long_are_named() {
    assert!(matches!(parse(b"GET / HTTP/1.1\r\n\r\n"), Err(Flaw::Magic(_))));
    assert!(matches!(parse(b"GET "), Err(Flaw::Magic(_))));
    let mut long = Vec::new();
    let at = Position::default();
    Frame::Entry { at, payload: b"x" }.encode(&mut long);
    long[8..12].copy_from_slice(&(FRAME_BYTES_MAX as u32 + 1).to_le_bytes());
    let length_bytes = FRAME_BYTES_MAX + 1;
    assert_eq!(parse(&long), Err(Flaw::Length { length_bytes, kind: 4 }));
    long[8..12].copy_from_slice(&(ENTRY_HEAD_BYTES as u32 - 1).to_le_bytes());
    assert!(matches!(parse(&long), Err(Flaw::Length { .. })));
}
