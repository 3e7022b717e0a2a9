//! The numbers of Linux's errors by name. The last ones are internal to the kernel, and strace prints them for calls that the kernel
//! will begin again.

/// Returns the number of an error, such as 2 for `ENOENT`.
pub fn number(name: &[u8]) -> Option<i64> {
    NUMBERS.binary_search_by(|(known, _)| (*known).cmp(name)).ok().map(|at| NUMBERS[at].1)
}

/// In the order of their names.
#[rustfmt::skip]
const NUMBERS: &[(&[u8], i64)] = &[
    (b"E2BIG", 7), (b"EACCES", 13), (b"EADDRINUSE", 98), (b"EADDRNOTAVAIL", 99), (b"EADV", 68), (b"EAFNOSUPPORT", 97),
    (b"EAGAIN", 11), (b"EALREADY", 114), (b"EBADE", 52), (b"EBADF", 9), (b"EBADFD", 77), (b"EBADMSG", 74), (b"EBADR", 53),
    (b"EBADRQC", 56), (b"EBADSLT", 57), (b"EBFONT", 59), (b"EBUSY", 16), (b"ECANCELED", 125), (b"ECHILD", 10), (b"ECHRNG", 44),
    (b"ECOMM", 70), (b"ECONNABORTED", 103), (b"ECONNREFUSED", 111), (b"ECONNRESET", 104), (b"EDEADLK", 35), (b"EDEADLOCK", 35),
    (b"EDESTADDRREQ", 89), (b"EDOM", 33), (b"EDOTDOT", 73), (b"EDQUOT", 122), (b"EEXIST", 17), (b"EFAULT", 14), (b"EFBIG", 27),
    (b"EHOSTDOWN", 112), (b"EHOSTUNREACH", 113), (b"EIDRM", 43), (b"EILSEQ", 84), (b"EINPROGRESS", 115), (b"EINTR", 4),
    (b"EINVAL", 22), (b"EIO", 5), (b"EISCONN", 106), (b"EISDIR", 21), (b"EISNAM", 120), (b"EKEYEXPIRED", 127),
    (b"EKEYREJECTED", 129), (b"EKEYREVOKED", 128), (b"EL2HLT", 51), (b"EL2NSYNC", 45), (b"EL3HLT", 46), (b"EL3RST", 47),
    (b"ELIBACC", 79), (b"ELIBBAD", 80), (b"ELIBEXEC", 83), (b"ELIBMAX", 82), (b"ELIBSCN", 81), (b"ELNRNG", 48), (b"ELOOP", 40),
    (b"EMEDIUMTYPE", 124), (b"EMFILE", 24), (b"EMLINK", 31), (b"EMSGSIZE", 90), (b"EMULTIHOP", 72), (b"ENAMETOOLONG", 36),
    (b"ENAVAIL", 119), (b"ENETDOWN", 100), (b"ENETRESET", 102), (b"ENETUNREACH", 101), (b"ENFILE", 23), (b"ENOANO", 55),
    (b"ENOBUFS", 105), (b"ENOCSI", 50), (b"ENODATA", 61), (b"ENODEV", 19), (b"ENOENT", 2), (b"ENOEXEC", 8), (b"ENOKEY", 126),
    (b"ENOLCK", 37), (b"ENOLINK", 67), (b"ENOMEDIUM", 123), (b"ENOMEM", 12), (b"ENOMSG", 42), (b"ENONET", 64), (b"ENOPKG", 65),
    (b"ENOPROTOOPT", 92), (b"ENOSPC", 28), (b"ENOSR", 63), (b"ENOSTR", 60), (b"ENOSYS", 38), (b"ENOTBLK", 15),
    (b"ENOTCONN", 107), (b"ENOTDIR", 20), (b"ENOTEMPTY", 39), (b"ENOTNAM", 118), (b"ENOTRECOVERABLE", 131), (b"ENOTSOCK", 88),
    (b"ENOTSUP", 95), (b"ENOTSUPP", 524), (b"ENOTTY", 25), (b"ENOTUNIQ", 76), (b"ENXIO", 6), (b"EOPNOTSUPP", 95),
    (b"EOVERFLOW", 75), (b"EOWNERDEAD", 130), (b"EPERM", 1), (b"EPFNOSUPPORT", 96), (b"EPIPE", 32), (b"EPROTO", 71),
    (b"EPROTONOSUPPORT", 93), (b"EPROTOTYPE", 91), (b"ERANGE", 34), (b"EREMCHG", 78), (b"EREMOTE", 66), (b"EREMOTEIO", 121),
    (b"ERESTART", 85), (b"ERESTARTNOHAND", 514), (b"ERESTARTNOINTR", 513), (b"ERESTARTSYS", 512),
    (b"ERESTART_RESTARTBLOCK", 516), (b"ERFKILL", 132), (b"EROFS", 30), (b"ESHUTDOWN", 108), (b"ESOCKTNOSUPPORT", 94),
    (b"ESPIPE", 29), (b"ESRCH", 3), (b"ESRMNT", 69), (b"ESTALE", 116), (b"ESTRPIPE", 86), (b"ETIME", 62), (b"ETIMEDOUT", 110),
    (b"ETOOMANYREFS", 109), (b"ETXTBSY", 26), (b"EUCLEAN", 117), (b"EUNATCH", 49), (b"EUSERS", 87), (b"EWOULDBLOCK", 11),
    (b"EXDEV", 18), (b"EXFULL", 54),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_have_the_numbers_of_libc() {
        assert!(NUMBERS.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!((number(b"ENOENT"), number(b"EAGAIN")), (Some(libc::ENOENT.into()), Some(libc::EAGAIN.into())));
        assert_eq!(number(b"ENONSENSE"), None);
    }
}
