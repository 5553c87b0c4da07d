//! The orders that clients send: which one is the n-th follows from n alone.

use pickfs_fix::{
    codec::{Decimal, Encoder, tag},
    engine::Now,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Buys below, sells above: nothing trades.
    Rest,
    /// A sell, then a buy that takes it.
    Cross,
}

const LEVELS: u64 = 50;
const MIDDLE: i64 = 1_000;

const NAME_BYTES: usize = 12;

/// The n-th order of all clients as its ClOrdID: twelve digits.
fn name(number: u64) -> [u8; NAME_BYTES] {
    let mut name = [b'0'; NAME_BYTES];
    let mut rest = number;
    for digit in name.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    name
}

#[inline]
pub(super) fn write(
    message: &mut Encoder,
    flow: Flow,
    client: u64,
    number: u64,
    of_client: u64,
    now: Now,
) {
    let is_sell = of_client % 2 == 0;
    let level = (of_client / 2 % LEVELS) as i64 + 1;
    let price = match (flow, is_sell) {
        (Flow::Cross, _) => MIDDLE,
        (Flow::Rest, true) => MIDDLE + level,
        (Flow::Rest, false) => MIDDLE - level,
    };
    message
        .bytes(tag::CL_ORD_ID, &name(number))
        .bytes(tag::SIDE, if is_sell { b"2" } else { b"1" });
    message.bytes(tag::SYMBOL, &[b'S', b'0' + (client / 10) as u8, b'0' + (client % 10) as u8]);
    message.time(tag::TRANSACT_TIME, now.utc_ns).decimal(tag::ORDER_QTY, Decimal::whole(100));
    message.bytes(tag::ORD_TYPE, b"2").decimal(tag::PRICE, Decimal::whole(price));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_fix::codec::{Message, Version};

    #[test]
    fn resting_orders_never_meet_and_crossing_ones_do() {
        let price = |flow, of_client| {
            let mut encoder = Encoder::default();
            let message = encoder.begin(Version::Fix44, b"D");
            write(message, flow, 3, 42, of_client, Now::default());
            let bytes = message.finish().to_vec();
            let message = Message::parse(&bytes).unwrap();
            assert_eq!(message.get(tag::CL_ORD_ID), Some(&b"000000000042"[..]));
            assert_eq!(message.get(tag::SYMBOL), Some(&b"S03"[..]));
            Decimal::parse(message.get(tag::PRICE).unwrap()).unwrap()
        };
        let highest_buy = (1..200).step_by(2).map(|n| price(Flow::Rest, n)).max();
        let lowest_sell = (0..200).step_by(2).map(|n| price(Flow::Rest, n)).min();
        assert!(highest_buy < lowest_sell);
        assert_eq!(price(Flow::Cross, 0), price(Flow::Cross, 1));
    }
}
