//! The rules of the session layer, message by message, without a socket: what the engine answers, and what numbers
//! it goes on with.

use crate::desk::memory;
use crate::peer::{at, order};
use pickfs_fix::codec::{Encoder, Frame, Message, Version, frame, tag};
use pickfs_fix::engine::{Engine, Now, Settings};
use pickfs_fix::session::End;

struct Bench {
    engine: Engine,
    number: usize,
    now: Now,
}

impl Bench {
    fn new() -> Bench {
        let mut engine = Engine::open(Settings::default(), memory(), at(0)).unwrap();
        let number = engine.connect(at(1)).unwrap();
        Bench { engine, number, now: at(1) }
    }

    fn logged_on() -> Bench {
        let mut bench = Bench::new();
        assert_eq!(bench.send("A", 1, |m| logon(m, false)), ["A 1"]);
        bench
    }

    fn again(&mut self) {
        self.engine.disconnect(self.number);
        self.number = self.engine.connect(self.now).unwrap();
    }

    fn send(
        &mut self,
        msg_type: &str,
        sequence: u64,
        body: impl FnOnce(&mut Encoder),
    ) -> Vec<String> {
        let bytes = message("CLIENT", msg_type, sequence, self.now, body);
        self.send_raw(&bytes)
    }

    fn send_raw(&mut self, bytes: &[u8]) -> Vec<String> {
        self.engine.receive(self.number, bytes, self.now).unwrap();
        self.answers()
    }

    fn tick(&mut self, seconds: u64) -> Vec<String> {
        self.now = at(seconds);
        self.engine.tick(self.now).unwrap();
        self.answers()
    }

    /// `MsgType MsgSeqNum` of what was sent, with what tells most of it.
    fn answers(&mut self) -> Vec<String> {
        let Some(outbox) = self.engine.outbox(self.number) else { return Vec::new() };
        let bytes = outbox.waiting().to_vec();
        outbox.pass(bytes.len());
        let (mut rest, mut answers) = (&bytes[..], Vec::new());
        while let Frame::Whole { bytes } = frame(rest, 65_536) {
            answers.push(told(&Message::parse(&rest[..bytes]).unwrap()));
            rest = &rest[bytes..];
        }
        assert!(rest.is_empty());
        answers
    }

    fn ending(&self) -> Option<End> {
        self.engine.ending(self.number)
    }
}

fn told(message: &Message<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let header = &message.header;
    let mut told = format!("{} {}", text(header.msg_type), header.sequence.unwrap());
    for (name, tag) in [
        (" name ", tag::CL_ORD_ID),
        (" from ", tag::BEGIN_SEQ_NO),
        (" next ", tag::NEW_SEQ_NO),
        (" test ", tag::TEST_REQ_ID),
        (" reason ", tag::SESSION_REJECT_REASON),
        (" tag ", tag::REF_TAG_ID),
        (" text ", tag::TEXT),
    ] {
        if let Some(value) = message.get(tag) {
            told += name;
            told += &text(value);
        }
    }
    if header.is_poss_dup {
        told += " again";
    }
    told
}

fn message(
    us: &str,
    msg_type: &str,
    sequence: u64,
    now: Now,
    body: impl FnOnce(&mut Encoder),
) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.begin(Version::Fix44, msg_type.as_bytes()).text(tag::SENDER_COMP_ID, us);
    encoder.text(tag::TARGET_COMP_ID, "PICKFS").uint(tag::MSG_SEQ_NUM, sequence);
    encoder.time(tag::SENDING_TIME, now.utc_ns);
    body(&mut encoder);
    encoder.finish().to_vec()
}

fn logon(message: &mut Encoder, reset: bool) {
    message.uint(tag::ENCRYPT_METHOD, 0).uint(tag::HEART_BT_INT, 30);
    if reset {
        message.text(tag::RESET_SEQ_NUM_FLAG, "Y");
    }
}

fn nothing(_: &mut Encoder) {}

fn buy(name: &str) -> impl FnOnce(&mut Encoder) {
    move |message| order(message, name, "1", 5, "7", at(1))
}

#[test]
fn the_first_message_must_be_a_logon_of_somebody_who_means_us() {
    let mut bench = Bench::new();
    assert!(bench.send("0", 1, nothing).is_empty());
    assert_eq!(bench.ending(), Some(End::NoLogon));

    let mut bench = Bench::new();
    let to_another = message("CLIENT", "A", 1, at(1), |m| logon(m, false));
    let to_another = String::from_utf8(to_another).unwrap().replace("56=PICKFS", "56=PICKED");
    assert!(bench.send_raw(to_another.as_bytes()).is_empty());
    assert_eq!(bench.ending(), None, "its checksum is wrong: it is no message at all");
    assert!(bench.tick(30).is_empty());
    assert_eq!(bench.ending(), Some(End::NoLogon), "nobody logged on in time");
}

#[test]
fn a_test_request_is_echoed_and_silence_is_tested_then_ended() {
    let mut bench = Bench::logged_on();
    assert_eq!(
        bench.send("1", 2, |m| {
            m.text(tag::TEST_REQ_ID, "hello");
        }),
        ["0 2 test hello"]
    );
    assert_eq!(bench.tick(32), ["0 3"]);
    assert_eq!(bench.tick(40), ["1 4 test still there?"]);
    assert_eq!(bench.tick(80), ["5 5 text no answer to a TestRequest"]);
    assert_eq!(bench.ending(), Some(End::Silent));
}

#[test]
fn a_gap_is_asked_for_once_and_what_fills_it_is_taken_in_order() {
    let mut bench = Bench::logged_on();
    assert_eq!(bench.send("D", 4, buy("c")), ["2 2 from 2"]);
    assert!(bench.send("D", 5, buy("d")).is_empty());
    assert_eq!(bench.send("D", 2, buy("a")), ["8 3 name a"]);
    assert_eq!(bench.send("D", 3, buy("b")), ["8 4 name b"]);
    assert_eq!(bench.send("D", 4, buy("c")), ["8 5 name c"]);
    assert_eq!(bench.send("D", 5, buy("d")), ["8 6 name d"]);
    assert_eq!(bench.send("D", 9, buy("e")), ["2 7 from 6"]);
    bench.now = at(10);
    assert_eq!(bench.tick(12), ["2 8 from 6"], "nobody answered: it is asked for again");
}

#[test]
fn reports_are_sent_again_and_administrative_messages_are_passed_over() {
    let mut bench = Bench::logged_on();
    bench.send("D", 2, buy("a"));
    bench.send("1", 3, |m| {
        m.text(tag::TEST_REQ_ID, "x");
    });
    bench.send("D", 4, buy("b"));
    let ask = |from, to| {
        move |m: &mut Encoder| {
            m.uint(tag::BEGIN_SEQ_NO, from).uint(tag::END_SEQ_NO, to);
        }
    };
    assert_eq!(
        bench.send("2", 5, ask(1, 0)),
        ["4 1 next 2 again", "8 2 name a again", "4 3 next 4 again", "8 4 name b again"]
    );
    assert_eq!(bench.send("2", 6, ask(2, 2)), ["8 2 name a again"]);
    assert!(bench.send("2", 7, ask(9, 0)).is_empty());
    assert_eq!(
        bench.send("2", 8, |m| {
            m.uint(tag::BEGIN_SEQ_NO, 1);
        }),
        ["3 5 reason 1 tag 16"]
    );
}

#[test]
fn a_used_number_ends_the_session_unless_the_message_says_it_comes_again() {
    let mut bench = Bench::logged_on();
    bench.send("D", 2, buy("a"));
    let again = |m: &mut Encoder| {
        m.text(tag::POSS_DUP_FLAG, "Y").time(tag::ORIG_SENDING_TIME, at(1).utc_ns);
        buy("a")(m);
    };
    assert!(bench.send("D", 2, again).is_empty(), "no order is taken twice");
    let no_first_time = |m: &mut Encoder| {
        m.text(tag::POSS_DUP_FLAG, "Y");
    };
    assert_eq!(bench.send("D", 2, no_first_time), ["3 3 reason 1 tag 122"]);
    assert_eq!(
        bench.send("D", 2, buy("a")),
        ["5 4 text MsgSeqNum too low, expecting 3 but received 2"]
    );
    assert_eq!(bench.ending(), Some(End::TooLow { expected: 3, received: 2 }));
}

#[test]
fn garbled_messages_are_ignored_and_asked_for_when_the_next_one_comes() {
    let mut bench = Bench::logged_on();
    let mut garbled = message("CLIENT", "D", 2, at(1), buy("a"));
    let last = garbled.len() - 2;
    garbled[last] = if garbled[last] == b'0' { b'1' } else { b'0' };
    assert!(bench.send_raw(&garbled).is_empty());
    assert_eq!(bench.send("D", 3, buy("b")), ["2 2 from 2"]);
    assert_eq!(bench.ending(), None);
}

#[test]
fn a_message_over_the_limit_or_of_another_sender_or_time_ends_the_session() {
    let mut bench = Bench::logged_on();
    assert_eq!(
        bench.send_raw(b"8=FIX.4.4\x019=99999999\x01"),
        ["5 2 text the message is too long"]
    );
    assert_eq!(bench.ending(), Some(End::TooLong));

    let mut bench = Bench::logged_on();
    let other = message("SOMEBODY", "0", 2, at(1), nothing);
    let ending = bench.send_raw(&other);
    assert_eq!(ending[0], "3 2 reason 9");
    assert!(ending[1].starts_with("5 3 text another SenderCompID"));

    let mut bench = Bench::logged_on();
    let late = message("CLIENT", "0", 2, at(500), nothing);
    assert_eq!(bench.send_raw(&late)[0], "3 2 reason 10");
    assert_eq!(bench.ending(), Some(End::Clock));

    let mut bench = Bench::logged_on();
    let no_number = message("CLIENT", "0", 2, at(1), nothing);
    let text = String::from_utf8(no_number).unwrap().replace("34=2", "9999=2");
    let mut encoder = Encoder::default();
    let body = text.split("35=0\x01").nth(1).unwrap().split("10=").next().unwrap();
    encoder.begin(Version::Fix44, b"0").raw(body.as_bytes());
    assert_eq!(bench.send_raw(encoder.finish()), ["5 2 text MsgSeqNum is missing"]);
}

#[test]
fn sequence_reset_fills_gaps_or_sets_the_number_and_never_goes_back() {
    let mut bench = Bench::logged_on();
    let to = |next, is_fill| {
        move |m: &mut Encoder| {
            m.text(tag::GAP_FILL_FLAG, if is_fill { "Y" } else { "N" }).uint(tag::NEW_SEQ_NO, next);
        }
    };
    assert!(bench.send("4", 2, to(10, true)).is_empty());
    assert_eq!(bench.send("D", 10, buy("a")), ["8 2 name a"]);
    assert_eq!(bench.send("4", 11, to(5, true)), ["3 3 reason 5 tag 36"]);
    assert!(bench.send("4", 1, to(50, false)).is_empty(), "its own number does not count");
    assert_eq!(bench.send("4", 50, to(20, false)), ["3 4 reason 5 tag 36"]);
    assert_eq!(bench.send("D", 50, buy("b")), ["8 5 name b"]);
}

#[test]
fn logout_is_answered_and_numbers_go_on_or_begin_again_at_the_next_logon() {
    let mut bench = Bench::logged_on();
    assert_eq!(bench.send("5", 2, nothing), ["5 2"]);
    assert_eq!(bench.ending(), Some(End::LoggedOut));
    bench.again();
    assert_eq!(bench.send("A", 3, |m| logon(m, false)), ["A 3"]);
    bench.again();
    assert_eq!(bench.send("A", 9, |m| logon(m, false)), ["A 4", "2 5 from 4"]);
    bench.again();
    assert_eq!(
        bench.send("A", 2, |m| logon(m, false)),
        ["5 6 text MsgSeqNum too low, expecting 4 but received 2"]
    );
    bench.again();
    assert_eq!(bench.send("A", 1, |m| logon(m, true)), ["A 1"]);
    assert_eq!(bench.send("D", 2, buy("a")), ["8 2 name a"]);
}

#[test]
fn orders_that_lack_something_are_rejected_with_the_field() {
    let mut bench = Bench::logged_on();
    let no_side = |m: &mut Encoder| {
        m.text(tag::CL_ORD_ID, "a").text(tag::ORD_TYPE, "2").text(tag::SYMBOL, "X");
    };
    assert_eq!(bench.send("D", 2, no_side), ["3 2 reason 1 tag 54"]);
    let no_price = |m: &mut Encoder| {
        buy("a")(m);
        m.text(tag::PRICE, "-1");
    };
    assert_eq!(bench.send("D", 3, no_price), ["3 3 reason 5 tag 44"]);
    assert_eq!(
        bench.send("D", 4, |m| {
            m.raw(b"58=\x01");
        }),
        ["3 4 reason 4 tag 58"]
    );
    assert_eq!(bench.send("zz", 5, nothing), ["3 5 reason 11 tag 35"]);
    assert_eq!(bench.send("D", 6, buy("a")), ["8 6 name a"], "the session goes on");
}
