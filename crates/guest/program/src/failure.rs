//! Failures of system calls.

use std::{fmt, io};

/// A call that failed.
#[derive(Debug)]
pub struct Failure {
    /// The system's error.
    pub error: io::Error,
    /// The name of the call.
    pub call: &'static str,
}

impl Failure {
    /// Makes the failure of a `call` that has just returned: the error is the thread's `errno`.
    pub fn last(call: &'static str) -> Failure {
        Failure { error: io::Error::last_os_error(), call }
    }

    /// Returns the error's symbol, for example `ECONNREFUSED`.
    pub fn code(&self) -> String {
        let number = self.error.raw_os_error().unwrap_or(0);
        let known = NAMES.iter().find(|(code, _)| *code == number);
        known.map_or_else(|| format!("E{number}"), |(_, name)| (*name).to_owned())
    }
}

impl fmt::Display for Failure {
    /// Writes the error in words, for example `No such file or directory`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&words(&self.error))
    }
}

/// Returns an error in words, without its number.
pub fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// Turns the result of a system call that returns -1 when it fails into a [`Result`].
pub fn check<T: PartialOrd + Default>(call: &'static str, result: T) -> Result<T, Failure> {
    if result < T::default() { Err(Failure::last(call)) } else { Ok(result) }
}

macro_rules! names {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

/// The errors of sockets, files and programs that have a symbol here.
const NAMES: &[(i32, &str)] = names! {
    EPERM ENOENT EINTR EIO ENXIO E2BIG ENOEXEC EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST ENODEV ENOTDIR EISDIR
    EINVAL EMFILE ENOTTY EFBIG ENOSPC EROFS EPIPE EDOM ERANGE ENOSYS EPROTO EMSGSIZE EPROTOTYPE ENOPROTOOPT
    EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH
    ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN ESHUTDOWN ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH
    EALREADY EINPROGRESS ECANCELED
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_symbol_and_its_words() {
        let failure = Failure { error: io::Error::from_raw_os_error(111), call: "connect" };
        assert_eq!((failure.code().as_str(), failure.to_string().as_str()), ("ECONNREFUSED", "Connection refused"));
        assert_eq!(Failure { error: io::Error::from_raw_os_error(4000), call: "x" }.code(), "E4000");
    }
}
