//! TCP Fast Open (RFC 7413): data in the SYN, for who has a cookie of the server's.

use std::sync::{Arc, Mutex, PoisonError};

/// A cookie: 4 to 16 bytes, an even number of them (section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; 16],
    length: u8,
}

impl Cookie {
    /// One of these bytes, if there may be one of so many.
    pub fn new(cookie: &[u8]) -> Option<Cookie> {
        let valid = cookie.len() >= 4 && cookie.len().is_multiple_of(2);
        let mut bytes = [0; 16];
        bytes.get_mut(..cookie.len()).filter(|_| valid)?.copy_from_slice(cookie);
        Some(Cookie { bytes, length: cookie.len() as u8 })
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// One of 8 bytes, as Linux grants them.
impl From<u64> for Cookie {
    fn from(number: u64) -> Cookie {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Cookie { bytes, length: 8 }
    }
}

/// The cookie of a pair of hosts: what the server's host grants to the client's (section 4.1.2), and what that has cached
/// (section 4.1.3). All connections between the two share it.
#[derive(Debug)]
pub struct Cookies {
    granted: Cookie,
    cached: Mutex<Option<Cookie>>,
}

impl Cookies {
    /// A pair of hosts whose server grants `granted`. `warm`: the client has it from an earlier time.
    pub fn new(granted: Cookie, warm: bool) -> Self {
        Cookies { granted, cached: Mutex::new(warm.then_some(granted)) }
    }

    fn cached(&self) -> Option<Cookie> {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache(&self, cookie: Cookie) {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(cookie);
    }
}

/// The Fast Open option of a SYN (section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieOption {
    /// The client asks for a cookie.
    Request,
    /// The client has this cookie, or the server grants it.
    Cookie(Cookie),
}

/// What a connection keeps of Fast Open.
#[derive(Debug)]
pub(crate) struct FastOpen {
    cookies: Arc<Cookies>,
    /// As the client: a SYN with a cookie has left, and so many bytes were in it.
    pub sent: Option<u16>,
    /// As the server: the cookie was right, so data flows before the client has acknowledged the SYN-ACK.
    pub accepted: bool,
    /// As the server: the SYN-ACK is to grant a cookie.
    grants: bool,
    /// The application has closed before the connection was established.
    pub closing: bool,
}

impl FastOpen {
    pub fn new(cookies: Arc<Cookies>) -> Self {
        FastOpen { cookies, sent: None, accepted: false, grants: false, closing: false }
    }

    /// The client's option of its first SYN.
    pub fn ask(&self) -> CookieOption {
        self.cookies.cached().map_or(CookieOption::Request, CookieOption::Cookie)
    }

    /// Whether data goes with the SYN that is to leave.
    pub fn has_cookie(&self) -> bool {
        self.cookies.cached().is_some()
    }

    /// The server's SYN-ACK has arrived with `option`.
    pub fn on_answer(&mut self, option: Option<CookieOption>) {
        if let Some(CookieOption::Cookie(cookie)) = option {
            self.cookies.cache(cookie);
        }
    }

    /// A client's SYN has arrived with `option` (section 4.2.2): whether its data is taken.
    pub fn on_request(&mut self, option: Option<CookieOption>) -> bool {
        self.accepted = option == Some(CookieOption::Cookie(self.cookies.granted));
        self.grants = option.is_some() && !self.accepted;
        self.accepted
    }

    /// The server's option of its SYN-ACK.
    pub fn answer(&self) -> Option<CookieOption> {
        self.grants.then_some(CookieOption::Cookie(self.cookies.granted))
    }
}
