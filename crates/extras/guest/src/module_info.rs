//! What a kernel module says of itself: the modules that it needs. Debian's kernel packages hold no
//! modules.dep, which an installation makes; each module names its own needs all the same.
//! Source: elf(5); `MODULE_INFO` in `include/linux/moduleparam.h`: texts `key=value`, each ended by a zero, in
//! the section `.modinfo`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use elf::{ElfBytes, endian::LittleEndian, file::Class};

use crate::boot_image::unpack_to;

/// `None` where it is no module.
pub fn needs(elf: &[u8]) -> Option<Vec<String>> {
    let elf = elf64(elf)?;
    let section = elf.section_header_by_name(".modinfo").ok()??;
    let (info, _) = elf.section_data(&section).ok()?;
    let texts = info.split(|byte| *byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let listed = texts.filter_map(|text| text.strip_prefix("depends="));
    Some(
        listed
            .flat_map(|names| names.split(','))
            .map(str::to_owned)
            .filter(|n| !n.is_empty())
            .collect(),
    )
}

pub(crate) fn elf64(bytes: &[u8]) -> Option<ElfBytes<'_, LittleEndian>> {
    let elf = ElfBytes::minimal_parse(bytes).ok()?;
    (elf.ehdr.class == Class::ELF64).then_some(elf)
}

/// Itself, or an unpacked copy in `folder` where it is packed.
pub fn plain_file(module: &Path, folder: &Path) -> io::Result<PathBuf> {
    if module.extension().is_some_and(|end| end == "ko") {
        return Ok(module.to_owned());
    }
    let to = folder.join(module.file_stem().unwrap_or_default());
    if !to.is_file() {
        let packed = fs::read(module)?;
        fs::create_dir_all(folder)?;
        unpack_to(&to, &packed, |_| true)?;
    }
    Ok(to)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn module(info: &str) -> Vec<u8> {
        let names = b"\0.shstrtab\0.modinfo\0";
        let mut elf = vec![0; 64 + 3 * 64];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        elf[20] = 1;
        (elf[40], elf[58], elf[60], elf[62]) = (64, 64, 3, 1);
        let mut put = |index: usize, name: u8, from: usize, length: usize| {
            let at = 64 + index * 64;
            elf[at] = name;
            elf[at + 24..at + 32].copy_from_slice(&(from as u64).to_le_bytes());
            elf[at + 32..at + 40].copy_from_slice(&(length as u64).to_le_bytes());
        };
        put(1, 1, 256, names.len());
        put(2, 11, 256 + names.len(), info.len());
        elf.extend(names);
        elf.extend(info.as_bytes());
        elf
    }

    #[test]
    fn needs_are_named_in_the_modules_own_words() {
        let f2fs = module("license=GPL\0depends=lz4_compress,libcrc32c\0intree=Y\0");
        assert_eq!(needs(&f2fs).unwrap(), ["lz4_compress", "libcrc32c"]);
        assert_eq!(needs(&module("depends=\0")).unwrap(), [""; 0]);
        assert_eq!(needs(&f2fs[..200]), None);
    }

    #[test]
    fn a_packed_module_is_unpacked_once() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (folder.path().join("a.ko"), folder.path().join("a.ko.gz"));
        fs::write(&plain, module("depends=\0")).unwrap();
        assert_eq!(plain_file(&plain, folder.path()).unwrap(), plain);
        let Ok(made) = std::process::Command::new("gzip").arg("-c").arg(&plain).output() else {
            return println!("SKIPPED(unit): gzip not found");
        };
        fs::write(&packed, made.stdout).unwrap();
        let out = folder.path().join("plain");
        let file = plain_file(&packed, &out).unwrap();
        assert_eq!(fs::read(&file).unwrap(), fs::read(&plain).unwrap());
        fs::remove_file(&packed).unwrap();
        assert_eq!(plain_file(&packed, &out).unwrap(), file, "it is there already");
        fs::write(folder.path().join("b.ko.gz"), "nonsense").unwrap();
        assert!(plain_file(&folder.path().join("b.ko.gz"), &out).is_err());
    }
}
