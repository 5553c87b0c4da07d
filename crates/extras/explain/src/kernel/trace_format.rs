//! The `format` file of a trace point: its number and where its fields lie in a record. Offsets
//! differ between kernels, so they are never assumed. Source: Documentation/trace/events.rst,
//! "Event formats".

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFormat {
    /// Without its group.
    pub name: String,
    /// The number that `perf_event_open(2)` wants.
    pub id: u64,
    /// In order, the common ones first.
    pub fields: Vec<TraceField>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceField {
    /// Without type and array length.
    pub name: String,
    pub offset_bytes: usize,
    pub size_bytes: usize,
    pub is_signed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("trace point {event} has no field {field} on this kernel")]
pub struct NoField {
    pub event: String,
    pub field: String,
}

impl TraceFormat {
    /// `None` when it has no number.
    pub fn parse(text: &str) -> Option<TraceFormat> {
        let after = |head: &str| {
            text.lines().find_map(|line| line.strip_prefix(head)).map(|rest| rest.trim())
        };
        Some(TraceFormat {
            name: after("name:").unwrap_or_default().to_owned(),
            id: after("ID:")?.parse().ok()?,
            fields: text.lines().filter_map(TraceField::parse).collect(),
        })
    }

    pub fn field(&self, name: &str) -> Result<&TraceField, NoField> {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .ok_or_else(|| NoField { event: self.name.clone(), field: name.to_owned() })
    }
}

impl TraceField {
    /// A line such as `field:char prev_comm[16]; offset:8; size:16; signed:0;`.
    fn parse(line: &str) -> Option<TraceField> {
        let declaration = line.trim_start().strip_prefix("field:")?;
        let mut parts = declaration.split(';').map(str::trim);
        let words = parts.next()?;
        let name = words.split('[').next()?.split_whitespace().last()?.trim_start_matches('*');
        let mut number = |key: &str| -> Option<usize> {
            parts.next()?.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok()
        };
        let (offset_bytes, size_bytes) = (number("offset")?, number("size")?);
        let is_signed = number("signed").unwrap_or(0) != 0;
        Some(TraceField { name: name.to_owned(), offset_bytes, size_bytes, is_signed })
    }

    /// `None` when the record is too short.
    pub fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset_bytes..self.offset_bytes.checked_add(self.size_bytes)?)
    }

    /// The number in this field, in the machine's byte order; `None` when the record is too short or
    /// the field is no number of 1, 2, 4 or 8 bytes.
    pub fn integer(&self, record: &[u8]) -> Option<i64> {
        let bytes = self.bytes(record)?;
        Some(match (bytes.len(), self.is_signed) {
            (1, false) => i64::from(bytes[0]),
            (1, true) => i64::from(bytes[0] as i8),
            (2, false) => i64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            (2, true) => i64::from(i16::from_ne_bytes(bytes.try_into().ok()?)),
            (4, false) => i64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// Up to its first zero byte; `None` when the record is too short.
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(record)?;
        Some(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n\n\
        print fmt: \"prev_comm=%s\", REC->prev_comm\n";

    #[test]
    fn a_format_of_this_kernel_is_read() {
        let format = TraceFormat::parse(SWITCH).unwrap();
        assert_eq!(
            (format.name.as_str(), format.id, format.fields.len()),
            ("sched_switch", 372, 5)
        );
        let state = format.field("prev_state").unwrap();
        assert_eq!((state.offset_bytes, state.size_bytes, state.is_signed), (32, 8, true));
        assert_eq!(format.field("args").unwrap().size_bytes, 48);
        let error = format.field("reason").unwrap_err().to_string();
        assert_eq!(error, "trace point sched_switch has no field reason on this kernel");
    }

    #[test]
    fn fields_are_taken_from_a_record() {
        let format = TraceFormat::parse(SWITCH).unwrap();
        let mut record = vec![0; 88];
        record[8..13].copy_from_slice(b"rustc");
        record[4..8].copy_from_slice(&(-1i32).to_ne_bytes());
        assert_eq!(format.field("prev_comm").unwrap().text(&record), Some(&b"rustc"[..]));
        assert_eq!(format.field("common_pid").unwrap().integer(&record), Some(-1));
        assert_eq!(format.field("args").unwrap().integer(&record), None);
        assert_eq!(format.field("prev_state").unwrap().integer(&record[..20]), None);
    }

    proptest! {
        #[test]
        fn no_text_and_no_record_make_it_panic(text in "\\PC{0,200}", record: Vec<u8>) {
            if let Some(format) = TraceFormat::parse(&format!("ID:1\nfield:{text}\n")) {
                for field in &format.fields {
                    let _ = (field.integer(&record), field.text(&record));
                }
            }
            let _ = TraceFormat::parse(&text);
        }

        #[test]
        fn a_field_is_read_back(
            name in "[a-z_]{1,12}", offset in 0usize..4096, size in 0usize..64, signed in 0usize..2,
        ) {
            let line = format!("ID: 3\n\tfield:long {name}[2];\toffset:{offset};\tsize:{size};\tsigned:{signed};");
            let format = TraceFormat::parse(&line).unwrap();
            let field = TraceField {
                name, offset_bytes: offset, size_bytes: size, is_signed: signed != 0,
            };
            prop_assert_eq!(&format.fields[0], &field);
        }
    }
}
