//! Names of the errors that probes meet, and which of them mean "not here". Source: errno(3).

use rustix::io::Errno;

const NAMES: &[(Errno, &str)] = &[
    (Errno::PERM, "EPERM"),
    (Errno::NOENT, "ENOENT"),
    (Errno::IO, "EIO"),
    (Errno::NXIO, "ENXIO"),
    (Errno::BADF, "EBADF"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::ACCESS, "EACCES"),
    (Errno::BUSY, "EBUSY"),
    (Errno::EXIST, "EEXIST"),
    (Errno::XDEV, "EXDEV"),
    (Errno::NODEV, "ENODEV"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::INVAL, "EINVAL"),
    (Errno::MFILE, "EMFILE"),
    (Errno::NOTTY, "ENOTTY"),
    (Errno::TXTBSY, "ETXTBSY"),
    (Errno::FBIG, "EFBIG"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::SPIPE, "ESPIPE"),
    (Errno::ROFS, "EROFS"),
    (Errno::MLINK, "EMLINK"),
    (Errno::RANGE, "ERANGE"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG"),
    (Errno::NOSYS, "ENOSYS"),
    (Errno::NOTEMPTY, "ENOTEMPTY"),
    (Errno::LOOP, "ELOOP"),
    (Errno::NODATA, "ENODATA"),
    (Errno::OVERFLOW, "EOVERFLOW"),
    (Errno::ILSEQ, "EILSEQ"),
    (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    (Errno::STALE, "ESTALE"),
    (Errno::DQUOT, "EDQUOT"),
];

/// `EPERM`, or `errno 200`.
pub fn name(errno: Errno) -> String {
    let known = NAMES.iter().find(|(one, _)| *one == errno);
    match known {
        Some((_, name)) => (*name).into(),
        None => format!("errno {}", errno.raw_os_error()),
    }
}

/// A call that ends like this has told that the file system does not do it. EPERM is also how
/// link(2) and mknod(2) say so; without root it may mean us.
pub fn means_no(errno: Errno, is_root: bool) -> bool {
    let refusals =
        [Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOTTY, Errno::INVAL, Errno::NODEV, Errno::XDEV];
    refusals.contains(&errno) || (is_root && errno == Errno::PERM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_name_or_its_number() {
        assert_eq!(name(Errno::OPNOTSUPP), "EOPNOTSUPP");
        assert_eq!(name(Errno::from_raw_os_error(200)), "errno 200");
    }

    #[test]
    fn a_refusal_means_no_and_an_accident_does_not() {
        assert!(means_no(Errno::OPNOTSUPP, false) && means_no(Errno::PERM, true));
        assert!(!means_no(Errno::PERM, false), "without root it may mean us");
        assert!(!means_no(Errno::IO, true) && !means_no(Errno::NOSPC, true));
    }
}
