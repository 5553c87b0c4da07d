//! The kernel's table of mounts, read from text: proc_pid_mountinfo(5).

use crate::refused::Refused;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// Unique while it is mounted.
    pub mount_id: u32,
    /// Major device number of the file system; 0 for those without one device (tmpfs, btrfs).
    pub major: u32,
    pub minor: u32,
    /// Which directory of the file system is seen.
    pub root: PathBuf,
    pub mount_point: PathBuf,
    /// Options of this mount: `rw,noatime`.
    pub options: String,
    /// The type, with its subtype: `ext4`, `fuse.ntfs-3g`.
    pub fs_type: String,
    /// What was mounted: a device node, or any word.
    pub source: PathBuf,
    /// Options of the file system, as the driver reports them.
    pub super_options: String,
}

pub fn parse(table: &[u8]) -> Result<Vec<MountEntry>, Refused> {
    let lines = table.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            parse_line(line).ok_or_else(|| {
                let (number, line) = (index + 1, String::from_utf8_lossy(line));
                let text = format!("line {number} of the mount table is malformed: {line:?}");
                Refused::new(text, None)
            })
        })
        .collect()
}

/// Without its line end; `None` when a field is missing or is not a number.
pub fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let mut fields = line.split(|&b| b == b' ');
    let mount_id = number(fields.next()?)?;
    let _parent = fields.next()?;
    let device = fields.next()?;
    let colon = device.iter().position(|&b| b == b':')?;
    let (major, minor) = (number(&device[..colon])?, number(&device[colon + 1..])?);
    let root = path(fields.next()?);
    let mount_point = path(fields.next()?);
    let options = text(fields.next()?);
    // Optional fields: `shared:1`, `master:2`.
    fields.by_ref().find(|&field| field == b"-")?;
    Some(MountEntry {
        mount_id,
        major,
        minor,
        root,
        mount_point,
        options,
        fs_type: text(fields.next()?),
        source: path(fields.next()?),
        super_options: text(fields.next()?),
    })
}

fn number(field: &[u8]) -> Option<u32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(&unescape(field)).into_owned()
}

fn path(field: &[u8]) -> PathBuf {
    OsString::from_vec(unescape(field)).into()
}

/// Turns `\040` and its like back into the byte they stand for; leaves all else alone.
pub fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        if let (b'\\', Some(byte)) = (first, octal(after)) {
            plain.push(byte);
            rest = &after[3..];
        } else {
            plain.push(first);
            rest = after;
        }
    }
    plain
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = digits.get(..3)?;
    let value = digits.iter().try_fold(0u16, |value, &digit| {
        (b'0'..=b'7').contains(&digit).then(|| value * 8 + u16::from(digit - b'0'))
    })?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStrExt;

    const REAL: &[u8] = b"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
        29 27 0:26 / /run/user\\0401 rw,nosuid shared:5 master:2 - tmpfs tmpfs rw,size=4k\n\
        30 27 0:27 /@home /home rw - btrfs /dev/sd\\134a rw,ssd,subvol=/@home\n";

    #[test]
    fn optional_fields_may_be_none_or_many() {
        let table = parse(REAL).unwrap();
        assert_eq!(table.len(), 3);
        assert_eq!((table[0].major, table[0].minor), (254, 0));
        assert_eq!(table[1].mount_point, PathBuf::from("/run/user 1"));
        assert_eq!(table[2].source, PathBuf::from("/dev/sd\\a"));
        assert_eq!(table[2].root, PathBuf::from("/@home"));
        assert_eq!(table[2].super_options, "rw,ssd,subvol=/@home");
    }

    #[test]
    fn a_malformed_line_is_named_with_its_number() {
        let error = parse(b"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 nonsense\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2 of "), "{error}");
        assert_eq!(error.to_string(), "line 2 of the mount table is malformed: \"28 nonsense\"");
    }

    #[test]
    fn an_unfinished_or_too_large_escape_is_left_alone() {
        assert_eq!(unescape(b"a\\04"), b"a\\04");
        assert_eq!(unescape(b"a\\777b"), b"a\\777b");
        assert_eq!(unescape(b"\\011\\012"), b"\t\n");
    }

    fn escape(path: &[u8]) -> Vec<u8> {
        let quoted = |b: &u8| match b {
            b' ' | b'\t' | b'\n' | b'\\' => format!("\\{b:03o}").into_bytes(),
            other => vec![*other],
        };
        path.iter().flat_map(quoted).collect()
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>) {
            let _ = parse(&bytes);
        }

        #[test]
        fn no_line_of_the_right_shape_makes_it_panic(
            line in "[0-9]{0,11} [0-9]{0,11} [0-9:]{0,9} [^\n]{0,9} [^\n]{0,9} [^\n]{0,20}- [^\n]*"
        ) {
            let _ = parse_line(line.as_bytes());
        }

        #[test]
        fn any_path_survives_being_escaped(name in proptest::collection::vec(1u8.., 1..40)) {
            let mut line = b"1 2 3:4 / ".to_vec();
            line.extend(escape(&name));
            line.extend(b" rw - ext4 /dev/x rw");
            let table = parse(&line).unwrap();
            prop_assert_eq!(table[0].mount_point.as_os_str().as_bytes(), &name[..]);
        }
    }
}
