use super::fields::{FieldError, Fields, uint};
use super::tag;
use super::time::{UtcTime, parse_utc};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Heartbeat,
    TestRequest,
    ResendRequest,
    Reject,
    SequenceReset,
    Logout,
    Logon,
    NewOrderSingle,
    OrderCancelRequest,
    OrderCancelReplaceRequest,
    Other,
}

impl Kind {
    fn of(msg_type: &[u8]) -> Kind {
        match msg_type {
            b"0" => Kind::Heartbeat,
            b"1" => Kind::TestRequest,
            b"2" => Kind::ResendRequest,
            b"3" => Kind::Reject,
            b"4" => Kind::SequenceReset,
            b"5" => Kind::Logout,
            b"A" => Kind::Logon,
            b"D" => Kind::NewOrderSingle,
            b"F" => Kind::OrderCancelRequest,
            b"G" => Kind::OrderCancelReplaceRequest,
            _ => Kind::Other,
        }
    }

    /// Whether it belongs to the session itself: such messages are never sent again.
    pub fn is_administrative(self) -> bool {
        !matches!(
            self,
            Kind::NewOrderSingle
                | Kind::OrderCancelRequest
                | Kind::OrderCancelReplaceRequest
                | Kind::Other
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// `None` for a BeginString that is not spoken here.
    pub version: Option<Version>,
    pub kind: Kind,
    pub msg_type: &'a [u8],
    /// `None` where it is no number.
    pub sequence: Option<u64>,
    pub sender: &'a [u8],
    pub target: &'a [u8],
    pub sending_time: Option<UtcTime>,
    pub orig_sending_time: Option<UtcTime>,
    pub is_poss_dup: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    pub header: Header<'a>,
    body_at: usize,
    body_end: usize,
}

const TRAILER_BYTES: usize = 7;

impl<'a> Message<'a> {
    /// [`super::frame()`] found it whole. Fields behind the header are not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<Message<'a>, FieldError> {
        let body_end = bytes.len().saturating_sub(TRAILER_BYTES);
        let mut fields = Fields::new(&bytes[..body_end]);
        let begin = next_of(&mut fields, tag::BEGIN_STRING)?;
        next_of(&mut fields, tag::BODY_LENGTH)?;
        let msg_type = next_of(&mut fields, tag::MSG_TYPE)?;
        let mut header = Header {
            version: Version::of(begin),
            kind: Kind::of(msg_type),
            msg_type,
            sequence: None,
            sender: &[],
            target: &[],
            sending_time: None,
            orig_sending_time: None,
            is_poss_dup: false,
        };
        let body_at = loop {
            let left = fields.clone();
            match fields.next() {
                Some(Ok(field)) if header.take(field.tag, field.value) => {}
                // An error in the body is for who reads the body.
                _ => break body_end - left.left_bytes(),
            }
        };
        Ok(Message { bytes, header, body_at, body_end })
    }

    #[inline]
    pub fn body(&self) -> Fields<'a> {
        Fields::new(&self.bytes[self.body_at..self.body_end])
    }

    /// As they stand there, each with its SOH.
    pub fn body_bytes(&self) -> &'a [u8] {
        &self.bytes[self.body_at..self.body_end]
    }

    /// Of the body; `None` where it is not there, or stands behind a broken one.
    pub fn get(&self, tag: u32) -> Option<&'a [u8]> {
        self.body().filter_map(Result::ok).find(|field| field.tag == tag).map(|field| field.value)
    }

    pub fn get_uint(&self, tag: u32) -> Option<u64> {
        self.get(tag).and_then(uint)
    }

    pub fn is_set(&self, tag: u32) -> bool {
        self.get(tag) == Some(b"Y")
    }

    pub fn broken_field(&self) -> Option<FieldError> {
        self.body().find_map(Result::err)
    }
}

fn next_of<'a>(fields: &mut Fields<'a>, tag: u32) -> Result<&'a [u8], FieldError> {
    match fields.next() {
        Some(Ok(field)) if field.tag == tag => Ok(field.value),
        Some(Err(error)) => Err(error),
        _ => Err(FieldError::Tag),
    }
}

/// Fields of the standard header that carry nothing for us, but may stand between those that do.
const OTHER_HEADER_TAGS: &[u32] =
    &[50, 57, 90, 91, 97, 115, 116, 128, 129, 142, 143, 144, 145, 212, 213, 347, 369, 1128, 1129];

impl<'a> Header<'a> {
    /// `false` where it is none of a header.
    #[inline]
    fn take(&mut self, tag: u32, value: &'a [u8]) -> bool {
        match tag {
            tag::MSG_SEQ_NUM => self.sequence = uint(value),
            tag::SENDER_COMP_ID => self.sender = value,
            tag::TARGET_COMP_ID => self.target = value,
            tag::SENDING_TIME => self.sending_time = parse_utc(value),
            tag::ORIG_SENDING_TIME => self.orig_sending_time = parse_utc(value),
            tag::POSS_DUP_FLAG => self.is_poss_dup = value == b"Y",
            other => return OTHER_HEADER_TAGS.contains(&other),
        }
        true
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// FIX 4.2: an ExecutionReport has an ExecTransType, and fills are told by their status.
    Fix42,
    Fix44,
    /// FIXT 1.1 with FIX 5.0 SP2 as its application version.
    Fixt11,
}

pub(crate) const FIX50_SP2: &[u8] = b"9";

impl Version {
    pub const ALL: [Version; 3] = [Version::Fix42, Version::Fix44, Version::Fixt11];

    pub const fn text(self) -> &'static str {
        match self {
            Version::Fix42 => "FIX.4.2",
            Version::Fix44 => "FIX.4.4",
            Version::Fixt11 => "FIXT.1.1",
        }
    }

    /// `None` for one that is not spoken here.
    pub fn of(begin_string: &[u8]) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.text().as_bytes() == begin_string)
    }
}
