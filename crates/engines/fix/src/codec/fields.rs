use super::frame::SOH;
use super::tag;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    pub tag: u32,
    /// Without SOH; may be empty.
    pub value: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("a field has no number")]
    Tag,
    #[error("field {tag} has no value")]
    Empty { tag: u32 },
    #[error("field {tag} does not end")]
    Open { tag: u32 },
}

/// After an error it gives nothing more.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// A data field that was announced, and its length.
    announced: Option<(u32, usize)>,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { rest: bytes, announced: None }
    }

    pub(super) fn left_bytes(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self) -> Result<Field<'a>, FieldError> {
        let (tag, tag_bytes) = tag_of(self.rest)?;
        let rest = &self.rest[tag_bytes..];
        let length = match self.announced.take() {
            Some((data, bytes)) if data == tag => {
                Some(bytes).filter(|at| rest.get(*at) == Some(&SOH))
            }
            _ => rest.iter().position(|byte| *byte == SOH),
        };
        let length = length.ok_or(FieldError::Open { tag })?;
        let value = &rest[..length];
        if value.is_empty() {
            return Err(FieldError::Empty { tag });
        }
        self.rest = &rest[length + 1..];
        if let (Some(data), Some(bytes)) = (tag::data_of(tag), uint(value)) {
            self.announced = usize::try_from(bytes).ok().map(|bytes| (data, bytes));
        }
        Ok(Field { tag, value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, FieldError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let taken = self.take();
        if taken.is_err() {
            self.rest = &[];
        }
        Some(taken)
    }
}

/// Before `=`, and how many bytes both take.
#[inline]
fn tag_of(bytes: &[u8]) -> Result<(u32, usize), FieldError> {
    let mut tag = 0u32;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        match byte {
            b'0'..=b'9' if at < 9 => tag = tag * 10 + u32::from(byte - b'0'),
            b'=' if tag > 0 => return Ok((tag, at + 1)),
            _ => break,
        }
    }
    Err(FieldError::Tag)
}

/// `None` where it has a sign, is no number or does not fit.
#[inline]
pub fn uint(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u64::from(byte - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Result<(u32, &[u8]), FieldError>> {
        Fields::new(bytes).map(|field| field.map(|field| (field.tag, field.value))).collect()
    }

    #[test]
    fn fields_come_in_order() {
        assert_eq!(all(b"35=D\x0111=a=b\x01"), [Ok((35, &b"D"[..])), Ok((11, &b"a=b"[..]))]);
    }

    #[test]
    fn a_data_field_may_hold_soh() {
        assert_eq!(
            all(b"95=3\x0196=a\x01b\x0158=x\x01"),
            [Ok((95, &b"3"[..])), Ok((96, &b"a\x01b"[..])), Ok((58, &b"x"[..]))]
        );
        assert_eq!(all(b"95=9\x0196=a\x01").last(), Some(&Err(FieldError::Open { tag: 96 })));
    }

    #[test]
    fn what_is_no_field_is_named_and_ends_it() {
        assert_eq!(all(b"x=1\x0135=D\x01"), [Err(FieldError::Tag)]);
        assert_eq!(all(b"=1\x01"), [Err(FieldError::Tag)]);
        assert_eq!(all(b"0000000001=1\x01"), [Err(FieldError::Tag)]);
        assert_eq!(all(b"58=\x0135=D\x01"), [Err(FieldError::Empty { tag: 58 })]);
        assert_eq!(all(b"58=abc"), [Err(FieldError::Open { tag: 58 })]);
    }

    #[test]
    fn whole_numbers_are_digits_alone() {
        assert_eq!(uint(b"0042"), Some(42));
        for wrong in [&b""[..], b"-1", b"+1", b"1.0", b" 1", b"99999999999999999999"] {
            assert_eq!(uint(wrong), None);
        }
    }
}
