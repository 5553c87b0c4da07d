//! CRC32C of a message, in three lanes at once: the instruction takes one word a cycle and three cycles for each, and
//! a tailer waits for all of them.
#![allow(unsafe_code)]
// What needs `unsafe` here in Rust 1.85 needs none in later ones.
#![allow(unused_unsafe)]

/// Of `bytes` behind those that gave `start`.
#[inline]
pub(crate) fn crc32c_append(start: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if lanes::ARE_FOR.contains(&bytes.len())
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("sse4.2")
    {
        // SAFETY: the processor was asked for both.
        return unsafe { lanes::crc32c_append(start, bytes) };
    }
    crc32c::crc32c_append(start, bytes)
}

#[cfg(target_arch = "x86_64")]
mod lanes {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    };
    use std::ops::Range;

    /// Shorter ones gain nothing, and longer ones are done by the crate.
    pub(super) const ARE_FOR: Range<usize> = 96..24 * (WORDS_MAX + 1);
    const WORDS_MAX: usize = 63;

    /// At each place x^(64 * place - 33) modulo the polynomial, in the reflected order of bits: a product without carry
    /// with it, made a CRC, is a CRC moved by so many words (Gopal and others, "Fast CRC Computation for iSCSI
    /// Polynomial Using CRC32 Instruction", Intel 2011).
    const SHIFTS: [u32; 2 * WORDS_MAX + 1] = {
        let mut shifts = [1; 2 * WORDS_MAX + 1];
        let mut at = 2;
        while at < shifts.len() {
            let (mut power, mut bit) = (shifts[at - 1], 0);
            while bit < 64 {
                power = (power >> 1) ^ if power & 1 == 1 { 0x82F6_3B78 } else { 0 };
                bit += 1;
            }
            shifts[at] = power;
            at += 1;
        }
        shifts
    };

    /// # Safety
    ///
    /// The processor has both.
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    pub(super) unsafe fn crc32c_append(start: u32, bytes: &[u8]) -> u32 {
        let length = bytes.len() / 24;
        let (lanes, rest) = bytes.split_at(length * 24);
        let (first, others) = lanes.split_at(length * 8);
        let (second, third) = others.split_at(length * 8);
        let mut sums = [u64::from(!start), 0, 0];
        let words = first.chunks_exact(8).zip(second.chunks_exact(8)).zip(third.chunks_exact(8));
        let shifts = [SHIFTS[2 * length], SHIFTS[length]];
        // SAFETY: the caller has asked the processor.
        unsafe {
            for ((first, second), third) in words {
                sums[0] = _mm_crc32_u64(sums[0], word(first));
                sums[1] = _mm_crc32_u64(sums[1], word(second));
                sums[2] = _mm_crc32_u64(sums[2], word(third));
            }
            let moved = product(sums[0], shifts[0]) ^ product(sums[1], shifts[1]);
            let mut sum = sums[2] ^ _mm_crc32_u64(0, moved);
            let words = rest.chunks_exact(8);
            let bytes = words.remainder();
            for eight in words {
                sum = _mm_crc32_u64(sum, word(eight));
            }
            let mut sum = sum as u32;
            for byte in bytes {
                sum = _mm_crc32_u8(sum, *byte);
            }
            !sum
        }
    }

    /// Without carry.
    #[inline]
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    unsafe fn product(sum: u64, shift: u32) -> u64 {
        // SAFETY: the caller has asked the processor.
        unsafe {
            let (sum, shift) = (_mm_cvtsi64_si128(sum as i64), _mm_cvtsi64_si128(shift.into()));
            _mm_cvtsi128_si64(_mm_clmulepi64_si128(sum, shift, 0)) as u64
        }
    }

    #[inline]
    fn word(eight: &[u8]) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(eight);
        u64::from_le_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    fn bytes() -> Vec<u8> {
        (0..2000_u32).map(|at| (at * 7 + at / 13) as u8).collect()
    }

    /// Worked out bit by bit, by another program.
    #[test]
    fn known_sums_come_out() {
        for (length, sum) in
            [(96, 0xECD5_6842), (97, 0x8450_3A3F), (1000, 0x7604_7627), (1535, 0x50E8_A004)]
        {
            assert_eq!(super::crc32c_append(0, &bytes()[..length]), sum, "{length}");
        }
    }

    #[test]
    fn lanes_give_what_one_after_another_gives() {
        let bytes = bytes();
        for length in 8..bytes.len() {
            let (start, bytes) = (!length as u32, &bytes[length % 9..length]);
            assert_eq!(super::crc32c_append(start, bytes), crc32c::crc32c_append(start, bytes));
        }
    }
}
