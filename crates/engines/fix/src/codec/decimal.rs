//! Prices and quantities: whole hundred-millionths, so that 0.1 is 0.1 and equal values compare equal.

const PLACES: usize = 8;
const ONE: i64 = 100_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal(
    /// In hundred-millionths.
    pub i64,
);

impl Decimal {
    pub const ZERO: Decimal = Decimal(0);

    /// Within plus and minus ninety thousand million.
    pub const fn whole(number: i64) -> Decimal {
        Decimal(number * ONE)
    }

    /// Reads `-12.5`; `None` for more than eight places, more than ten digits before the point, exponents, or
    /// anything else that is no FIX float.
    pub fn parse(text: &[u8]) -> Option<Decimal> {
        let (is_negative, digits) = match text.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, text),
        };
        let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
        let (whole, places) = (&digits[..point], digits.get(point + 1..).unwrap_or_default());
        if whole.len() > 10 || places.len() > PLACES || whole.len() + places.len() == 0 {
            return None;
        }
        let number = |digits: &[u8]| match digits {
            [] => Some(0),
            digits => super::fields::uint(digits).and_then(|number| i64::try_from(number).ok()),
        };
        let scale = 10i64.pow((PLACES - places.len()) as u32);
        let value = number(whole)?.checked_mul(ONE)?.checked_add(number(places)? * scale)?;
        Some(Decimal(if is_negative { -value } else { value }))
    }

    /// With as few digits as needed; gives how many of the bytes are used.
    pub fn write(self, text: &mut [u8; 24]) -> usize {
        let mut at = text.len();
        let (whole, mut places) =
            (self.0.unsigned_abs() / ONE as u64, self.0.unsigned_abs() % ONE as u64);
        if places > 0 {
            let mut left = PLACES;
            while places % 10 == 0 {
                places /= 10;
                left -= 1;
            }
            at = digits(text, at, places, left);
            at -= 1;
            text[at] = b'.';
        }
        at = digits(text, at, whole, 1);
        if self.0 < 0 {
            at -= 1;
            text[at] = b'-';
        }
        text.copy_within(at.., 0);
        text.len() - at
    }

    /// The average of prices over quantities: `sum_of_products` is in both scales, `quantity` the sum of
    /// quantities. Zero where nothing was filled.
    pub fn average(sum_of_products: i128, quantity: Decimal) -> Decimal {
        match quantity.0 {
            0 => Decimal::ZERO,
            sum => Decimal(i64::try_from(sum_of_products / i128::from(sum)).unwrap_or(i64::MAX)),
        }
    }
}

/// Before `end`, with at least `digits_min` digits; gives where it begins.
pub(super) fn digits(text: &mut [u8], end: usize, mut number: u64, digits_min: usize) -> usize {
    let mut at = end;
    while number > 0 || end - at < digits_min {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(decimal: Decimal) -> String {
        let mut text = [0; 24];
        let bytes = decimal.write(&mut text);
        String::from_utf8(text[..bytes].to_vec()).unwrap()
    }

    #[test]
    fn what_is_written_is_what_was_read() {
        for number in ["0", "7.25", "-7.25", "100", "0.00000001", "9999999999.99999999", "-0.5"] {
            assert_eq!(text(Decimal::parse(number.as_bytes()).unwrap()), number);
        }
        assert_eq!(text(Decimal::parse(b"007.2500").unwrap()), "7.25");
        assert_eq!(text(Decimal::parse(b".5").unwrap()), "0.5");
        assert_eq!(text(Decimal(i64::MIN)), "-92233720368.54775808");
    }

    #[test]
    fn what_is_no_float_is_refused() {
        for wrong in ["", "-", ".", "1e5", "+1", "1.123456789", "12345678901", "1.2.3", "1 "] {
            assert_eq!(Decimal::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn an_average_weighs_by_quantity() {
        let sum = i128::from(Decimal::whole(10).0) * i128::from(Decimal::whole(3).0)
            + i128::from(Decimal::whole(20).0) * i128::from(Decimal::whole(1).0);
        assert_eq!(Decimal::average(sum, Decimal::whole(4)), Decimal::parse(b"12.5").unwrap());
        assert_eq!(Decimal::average(0, Decimal::ZERO), Decimal::ZERO);
    }
}
