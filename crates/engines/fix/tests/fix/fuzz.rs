//! Whatever bytes come, nothing panics; what is written reads back; and it does not matter where a stream is cut.

use crate::desk::{Desk, memory, new_client};
use crate::peer::{at, order};
use pickfs_fix::codec::{Decimal, Encoder, Frame, Message, Version, frame, tag};
use pickfs_fix::engine::{Engine, Settings};
use pickfs_fix::market::{Exchange, Limits, Request};
use proptest::prelude::*;

fn engine() -> Engine {
    let market = Limits { orders_max: 64, symbols_max: 4 };
    Engine::open(Settings { market, ..Settings::default() }, memory(), at(0)).unwrap()
}

fn logged_on() -> Desk {
    Desk::new(engine(), new_client())
}

fn with_body(msg_type: &[u8], sequence: u64, body: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.begin(Version::Fix44, msg_type).text(tag::SENDER_COMP_ID, "CLIENT");
    encoder.raw(b"56=PICKFS\x01").uint(tag::MSG_SEQ_NUM, sequence);
    encoder.time(tag::SENDING_TIME, at(1).utc_ns).raw(body).finish().to_vec()
}

/// Bytes that look like fields often enough to come far.
fn fields() -> impl Strategy<Value = Vec<u8>> {
    let tag = prop_oneof![
        prop::sample::select(vec![
            7u32, 11, 16, 34, 35, 36, 38, 40, 41, 43, 44, 54, 55, 59, 95, 96, 108, 112, 122, 123,
            141
        ]),
        0..100_000u32,
    ];
    let value = prop_oneof!["[0-9]{1,12}", "[YN]", "[ -~]{0,12}", "-?[0-9]{1,11}\\.[0-9]{0,9}"];
    let field = (tag, value).prop_map(|(tag, value)| format!("{tag}={value}\x01").into_bytes());
    let field = prop_oneof![9 => field, 1 => prop::collection::vec(any::<u8>(), 0..20)];
    prop::collection::vec(field, 0..12).prop_map(|fields| fields.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_make_progress_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut from = 0;
        while from < bytes.len() {
            match frame(&bytes[from..], 256) {
                Frame::Partial | Frame::TooLong { .. } => break,
                Frame::Garbled { skip_bytes: bytes, .. } | Frame::Whole { bytes } => {
                    prop_assert!(bytes > 0);
                    from += bytes;
                }
            }
        }
        prop_assert!(from <= bytes.len());
        let _ = Message::parse(&bytes).map(|message| message.body().count());
        engine().receive(0, &bytes, at(0)).unwrap();
    }

    #[test]
    fn an_engine_takes_any_body_of_any_message(
        messages in prop::collection::vec((prop::sample::select(vec!["0", "1", "2", "3", "4", "5", "A", "D", "F", "G", "8", "zz"]), fields()), 1..12)
    ) {
        let Desk { mut engine, number, .. } = logged_on();
        for (sequence, (msg_type, body)) in (2..).zip(&messages) {
            engine.receive(number, &with_body(msg_type.as_bytes(), sequence, body), at(2)).unwrap();
        }
        engine.tick(at(100)).unwrap();
        engine.idle(at(100)).unwrap();
    }

    #[test]
    fn a_flipped_byte_is_never_taken_for_the_same_message(at_byte in 0usize..90, flip in 1u8..=255) {
        let bytes = with_body(b"D", 2, b"11=a\x0155=ACME\x0154=1\x0138=5\x0140=2\x0144=7.25\x01");
        let mut changed = bytes.clone();
        let place = at_byte % bytes.len();
        changed[place] ^= flip;
        // A checksum finds any one byte that changed; a length that changed finds no trailer.
        let is_whole = frame(&changed, 4096) == Frame::Whole { bytes: bytes.len() };
        prop_assert!(!is_whole || place >= bytes.len() - 4, "byte {place}");
    }

    #[test]
    fn it_does_not_matter_where_a_stream_is_cut(cuts in prop::collection::vec(1usize..200, 1..60)) {
        let Desk { engine: mut whole, mut client, number, .. } = logged_on();
        for name in 0..8 {
            client.send(b"D", at(2), |message| order(message, &format!("o{name}"), "1", 5, "7", at(2)));
        }
        let mut stream = b"noise".to_vec();
        stream.append(client.outbox());
        whole.receive(number, &stream, at(2)).unwrap();
        let expected = whole.outbox(number).unwrap().waiting().to_vec();

        let Desk { engine: mut cut, number, .. } = logged_on();
        let mut rest = &stream[..];
        for bytes in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*bytes));
            cut.receive(number, now, at(2)).unwrap();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(cut.outbox(number).unwrap().waiting(), &expected[..]);
        prop_assert_eq!(cut.exchange().resting(), 8);
    }

    #[test]
    fn decimals_read_back(value in any::<i64>()) {
        let mut text = [0; 24];
        let bytes = Decimal(value).write(&mut text);
        let read = Decimal::parse(&text[..bytes]);
        let is_long = value.unsigned_abs() >= 1_000_000_000_000_000_000;
        prop_assert!(read == Some(Decimal(value)) || is_long);
    }

    #[test]
    fn requests_are_read_or_refused(body in fields(), kind in prop::sample::select(vec![b"D", b"F", b"G"])) {
        let bytes = with_body(kind, 2, &body);
        let message = Message::parse(&bytes);
        if let Ok(Ok(request)) = message.map(|message| Request::of(&message, 0)) {
            Exchange::new(Limits { orders_max: 2, symbols_max: 1 }).take(0, request, 0, &mut Vec::new());
        }
    }
}
