//! A kernel image without its wrapping. What `/boot/vmlinuz-*` holds is a small loader and a packed kernel; an
//! emulated machine spends seconds on the unpacking. So it is unpacked here, once, and started at
//! the entry that kernels have for it (PVH), past the loader.
//!
//! ```text
//! bzImage:  | boot sector, setup (setup_sects + 1 sectors of 512) | loader ... | payload | ...
//!                                                               payload_offset ┘  payload_length
//! vmlinux:  ELF; a note `Xen` of type 18 holds the 32-bit entry
//! ```
//!
//! Sources: `Documentation/arch/x86/boot.rst` (setup_sects 0x1f1, version 0x206, payload 0x248 and 0x24c, from
//! protocol 2.08); `include/xen/interface/elfnote.h`, XEN_ELFNOTE_PHYS32_ENTRY; elf(5).

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    process::{Command, Stdio},
};

use elf::{abi::PT_NOTE, note::Note};

use crate::module_info::elf64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packing {
    magic: &'static [u8],
    program: &'static str,
    /// The kernel's build puts the unpacked size behind all but gzip's, which has it in its own format.
    tail_bytes: usize,
}

const PACKINGS: &[Packing] = &[
    Packing { magic: b"\xfd7zXZ\0", program: "xz", tail_bytes: 4 },
    Packing { magic: b"\x28\xb5\x2f\xfd", program: "zstd", tail_bytes: 4 },
    Packing { magic: b"\x1f\x8b", program: "gzip", tail_bytes: 0 },
];

fn packing_of(bytes: &[u8]) -> Option<&'static Packing> {
    PACKINGS.iter().find(|packing| bytes.starts_with(packing.magic))
}

/// Writes the kernel of an image to a file, ready to be entered by PVH; `None` where that cannot be done, and
/// the image itself is to be booted.
pub fn unpack(image: &Path, to: &Path) -> Option<()> {
    let image = fs::read(image).ok()?;
    unpack_to(to, payload(&image)?, |elf| has_pvh_entry(elf) == Some(true)).ok()
}

/// Nothing half done is left.
pub(crate) fn unpack_to(to: &Path, packed: &[u8], fits: fn(&[u8]) -> bool) -> io::Result<()> {
    let program = packing_of(packed).ok_or(io::ErrorKind::Unsupported)?.program;
    let begun = to.with_extension(format!("part{}", std::process::id()));
    let unpacked = || {
        let mut unpacker = Command::new(program);
        unpacker.arg("-dcq").stdin(Stdio::piped()).stderr(Stdio::null());
        let mut unpacker = unpacker.stdout(File::create(&begun)?).spawn()?;
        // An unpacker that ends early says so by its code.
        let _ = unpacker.stdin.take().expect("standard input is piped").write_all(packed);
        let is_done = unpacker.wait()?.success() && fits(&fs::read(&begun)?);
        let not_done =
            || io::Error::other(format!("{program} cannot unpack what {} is to be", to.display()));
        if is_done { fs::rename(&begun, to) } else { Err(not_done()) }
    };
    let kept = unpacked();
    let _ = fs::remove_file(&begun);
    kept
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    let is_told = image.get(0x202..0x206)? == b"HdrS" && number(image, 0x206, 2)? >= 0x0208;
    // Zero means four, for the oldest loaders.
    let sectors = image.get(0x1f1).map(|&sectors| if sectors == 0 { 4 } else { sectors })?;
    let from = (usize::from(sectors) + 1) * 512 + number(image, 0x248, 4)?;
    let length = number(image, 0x24c, 4).filter(|_| is_told)?;
    let payload = image.get(from..from.checked_add(length)?)?;
    payload.get(..length.checked_sub(packing_of(payload)?.tail_bytes)?)
}

const PHYS32_ENTRY: u64 = 18;

/// Whether an ELF kernel has the entry; `None` where it is no such file.
fn has_pvh_entry(elf: &[u8]) -> Option<bool> {
    let elf = elf64(elf)?;
    let is_it = |note: Note<'_>| matches!(note, Note::Unknown(note) if note.n_type == PHYS32_ENTRY && note.name == b"Xen\0");
    let has = |segment| elf.segment_data_as_notes(&segment).is_ok_and(|mut notes| notes.any(is_it));
    Some(elf.segments()?.iter().filter(|segment| segment.p_type == PT_NOTE).any(has))
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |sum: usize, byte| sum << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing but a note of this type.
    fn elf(note_type: u8) -> Vec<u8> {
        let mut elf = vec![0; 64 + 56];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        elf[20] = 1;
        (elf[32], elf[54], elf[56]) = (64, 56, 1);
        (elf[64], elf[64 + 8], elf[64 + 32], elf[64 + 48]) = (PT_NOTE as u8, 120, 40, 4);
        elf.extend([4, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0]);
        elf.extend(b"Xen\0lnx\0");
        elf.extend([4, 0, 0, 0, 4, 0, 0, 0, note_type, 0, 0, 0]);
        elf.extend(b"Xen\0\0\0\0\x01");
        elf
    }

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024 + 16];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&[0x0f, 0x02]);
        image[0x248] = 16;
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend(payload);
        image.extend(b"behind");
        image
    }

    #[test]
    fn the_payload_lies_where_the_setup_header_says() {
        let packed = [b"\xfd7zXZ\0kernel".as_slice(), &[9, 9, 9, 9]].concat();
        let whole = image(&packed);
        assert_eq!(payload(&whole).unwrap(), b"\xfd7zXZ\0kernel");
        assert_eq!(payload(&image(b"\x1f\x8bkernel")).unwrap(), b"\x1f\x8bkernel");
        assert!(payload(&image(b"unknown")).is_none() && payload(&whole[..600]).is_none());
    }

    #[test]
    fn the_entry_is_the_note_of_type_18() {
        assert_eq!(has_pvh_entry(&elf(18)), Some(true));
        assert_eq!(has_pvh_entry(&elf(7)), Some(false));
        assert_eq!(has_pvh_entry(b"\x7fELF"), None);
        assert_eq!(has_pvh_entry(&elf(18)[..100]), None);
    }

    #[test]
    fn an_image_is_unpacked_or_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("kernel"), elf(18)).unwrap();
        let packed = Command::new("gzip").arg("-c").arg(path("kernel")).output();
        let Ok(packed) = packed else { return println!("SKIPPED(unit): gzip not found") };
        fs::write(path("image"), image(&packed.stdout)).unwrap();
        assert_eq!(unpack(&path("image"), &path("vmlinux")), Some(()));
        assert_eq!(fs::read(path("vmlinux")).unwrap(), elf(18));
        fs::write(path("image"), image(b"\x1f\x8bnonsense")).unwrap();
        assert_eq!(unpack(&path("image"), &path("other")), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing half done is left");
    }
}
