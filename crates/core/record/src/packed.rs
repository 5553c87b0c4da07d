//! HdrHistogram's V2 bytes, plain or deflated, as what they count. They may come from an enemy: nothing is allocated by
//! a size that they claim.
//!
//! The crate's own decoder (7.5.4) allocates by the claimed length, up to 4 GiB, and by the claimed bounds, 50 MB with
//! five digits; and it negates the length of a run of zeros, which overflows for the longest one: a panic where that is
//! checked.

use std::io::Read;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::ZlibDecoder;

const PLAIN: u32 = 0x1c84_9313;
const DEFLATED: u32 = 0x1c84_9314;
/// Cookie, payload length, offset, digits, lowest and highest value, ratio.
const HEAD_BYTES: usize = 40;
/// All counters that three digits have, each different, are 500 kB.
const UNPACKED_MAX: u64 = 1 << 20;

/// Values that a histogram does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) middle: u64,
    pub(crate) times: u64,
}

/// Of a histogram in base64, in rising order.
pub(crate) fn counted_in(text: &str) -> Result<Vec<Counted>, String> {
    counted(&BASE64_STANDARD.decode(text).map_err(|error| error.to_string())?)
}

fn counted(bytes: &[u8]) -> Result<Vec<Counted>, String> {
    let plain = unpacked(bytes)?;
    let (head, payload) = plain.split_at_checked(HEAD_BYTES).ok_or(CUT)?;
    let long = |at: usize| u64::from_be_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let [cookie, length] = [long(0) >> 32, long(0) & 0xffff_ffff];
    let [offset, digits] = [long(8) >> 32, long(8) & 0xffff_ffff];
    if cookie != u64::from(PLAIN) {
        return Err("no histogram of HdrHistogram's version 2".into());
    }
    if offset != 0 || f64::from_bits(long(32)) != 1.0 {
        return Err("its values are shifted or no integers; record them as integers".into());
    }
    let lowest = long(16);
    if digits > 5 || lowest == 0 {
        return Err(format!("{digits} digits from {lowest} on are no histogram"));
    }
    let length = usize::try_from(length).map_err(|_| CUT)?;
    let mut payload = payload.get(..length).ok_or(CUT)?;
    let scale = Scale::new(lowest, digits as u32);
    let (mut found, mut index, mut total) = (Vec::new(), 0u64, 0u64);
    while !payload.is_empty() {
        let number = varint(&mut payload).ok_or(CUT)?;
        let times = number.max(0).unsigned_abs();
        if times > 0 {
            let middle = scale.middle(index).ok_or("it counts beyond all values")?;
            total = total.checked_add(times).filter(|all| *all < 1 << 53).ok_or(
                "it counts more operations than a program can do: 9,007,199,254,740,992 or more",
            )?;
            found.push(Counted { middle, times });
        }
        // A run of empty counters is the negative of its length.
        index = index.saturating_add(number.min(0).unsigned_abs().max(1));
    }
    Ok(found)
}

const CUT: &str = "its histogram is cut short; the program must close its log before it ends";

fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let Some((cookie, rest)) = bytes.split_first_chunk::<4>() else { return Err(CUT.into()) };
    let mut plain = Vec::new();
    let read = if u32::from_be_bytes(*cookie) == DEFLATED {
        let deflated = ZlibDecoder::new(rest.get(4..).ok_or(CUT)?);
        deflated.take(UNPACKED_MAX + 1).read_to_end(&mut plain)
    } else {
        Read::take(bytes, UNPACKED_MAX + 1).read_to_end(&mut plain)
    };
    read.map_err(|error| error.to_string())?;
    match plain.len() as u64 <= UNPACKED_MAX {
        true => Ok(plain),
        false => Err("it has more than 1 MiB; record with three digits".into()),
    }
}

/// Where counters lie on the line of values, as bits.
struct Scale {
    unit: u32,
    /// Counters of half a bucket; the first bucket is a whole one.
    half: u32,
}

impl Scale {
    fn new(lowest: u64, digits: u32) -> Scale {
        let resolved = 2 * 10u32.pow(digits);
        Scale { unit: lowest.ilog2(), half: resolved.next_power_of_two().ilog2() - 1 }
    }

    fn middle(&self, index: u64) -> Option<u64> {
        let bucket = (index >> self.half).saturating_sub(1);
        let shift = u32::try_from(bucket).ok()?.checked_add(self.unit)?;
        let width = 1u64.checked_shl(shift)?;
        let lowest = (index - (bucket << self.half)).checked_mul(width)?;
        lowest.checked_add(width / 2)
    }
}

/// Seven bits a byte, the lowest first; the ninth byte has eight. The lowest bit is the sign.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = if place == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::{
        Histogram,
        serialization::{Serializer, V2DeflateSerializer, V2Serializer},
    };
    use proptest::prelude::*;

    use super::*;

    fn both_forms(histogram: &Histogram<u64>) -> [Vec<u8>; 2] {
        let (mut plain, mut deflated) = (Vec::new(), Vec::new());
        V2Serializer::new().serialize(histogram, &mut plain).expect("memory");
        V2DeflateSerializer::new().serialize(histogram, &mut deflated).expect("memory");
        [plain, deflated]
    }

    #[test]
    fn what_claims_too_much_is_refused() {
        let [plain, _] = both_forms(&Histogram::new_with_bounds(1, 1 << 40, 3).expect("bounds"));
        let refused = |at: usize, bytes: &[u8]| {
            let mut wrong = plain.clone();
            wrong[at..at + bytes.len()].copy_from_slice(bytes);
            counted(&wrong).expect_err("refused")
        };
        assert_eq!(refused(4, &[255; 4]), CUT);
        assert!(refused(8, &[1]).contains("shifted"));
        assert!(refused(12, &[0, 0, 0, 6]).starts_with("6 digits"));
        assert!(refused(16, &[0; 8]).contains("from 0 on"));
        assert!(refused(0, b"BOMB").contains("version 2"));
        let mut bomb = [DEFLATED.to_be_bytes(), [0; 4]].concat();
        let zeros = std::io::repeat(0).take(UNPACKED_MAX + 1);
        let mut packed = flate2::read::ZlibEncoder::new(zeros, flate2::Compression::best());
        packed.read_to_end(&mut bomb).expect("memory");
        assert!(bomb.len() < 2_000 && counted(&bomb).expect_err("refused").contains("1 MiB"));
        let long = [&plain[..40], &[2; 1 << 20]].concat();
        assert!(counted(&long).expect_err("refused").contains("1 MiB"));
        // A run of 2^63 empty counters and one more, and a counter behind all values.
        let far = [&plain[..4], &[0, 0, 0, 10], &plain[8..40], &[255; 9], &[2]].concat();
        assert!(counted(&far).expect_err("refused").contains("beyond all values"));
    }

    proptest! {
        #[test]
        fn both_forms_give_back_what_was_recorded(
            values in prop::collection::vec((0u64..1 << 36, 1u64..1_000), 0..50),
            low in 1u64..5_000, digits in 0u8..=5,
        ) {
            let mut all = Histogram::<u64>::new_with_bounds(low, 1 << 36, digits).expect("bounds");
            for (value, times) in &values {
                all.record_n(*value, *times).expect("in range");
            }
            let wanted: Vec<Counted> = all.iter_recorded().map(|one| Counted {
                middle: all.median_equivalent(one.value_iterated_to()), times: one.count_at_value(),
            }).collect();
            for bytes in both_forms(&all) {
                prop_assert_eq!(&counted(&bytes).expect("read"), &wanted);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0usize..60, flip in any::<u8>(),
        ) {
            let _ = counted(&bytes);
            let mut one = Histogram::<u64>::new(3).expect("digits");
            one.record(1 << 20).expect("grows");
            for mut bytes in both_forms(&one) {
                let at = at % bytes.len();
                bytes[at] ^= flip;
                let _ = counted(&bytes);
                let _ = counted(&bytes[..at]);
            }
        }
    }
}
