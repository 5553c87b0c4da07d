use std::borrow::Cow;

/// Numbers from here to 516 never reach a program: the kernel begins the call again.
const RESTARTED: std::ops::RangeInclusive<i32> = 512..=516;

macro_rules! named {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

const NAMES: &[(i32, &str)] = named! {
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV
    ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE ERANGE
    EDEADLK EILSEQ ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP ENODATA EOVERFLOW EOPNOTSUPP ENOTSOCK
    ECONNRESET ENOTCONN ETIMEDOUT ESTALE EUCLEAN EDQUOT ECANCELED ESHUTDOWN
};

/// `errno 77` where it has no name here.
pub fn errno_name(number: i32) -> Cow<'static, str> {
    if RESTARTED.contains(&number) {
        return "restarted".into();
    }
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).into(),
        None => format!("errno {number}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_manual_pages() {
        let names = [28, 11, 512, 4_000].map(errno_name);
        assert_eq!(names, ["ENOSPC", "EAGAIN", "restarted", "errno 4000"]);
    }
}
