//! TCP Fast Open (RFC 7413): data in the SYN for clients with a cookie from the server.

use std::sync::{Arc, Mutex, PoisonError};

/// Fast Open cookie: 4 to 16 bytes, an even number (section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    bytes: [u8; 16],
    length: u8,
}

impl Cookie {
    /// Creates a cookie from its bytes, if the length is valid.
    pub fn new(cookie: &[u8]) -> Option<Cookie> {
        let valid = cookie.len() >= 4 && cookie.len().is_multiple_of(2);
        let mut bytes = [0; 16];
        bytes.get_mut(..cookie.len()).filter(|_| valid)?.copy_from_slice(cookie);
        Some(Cookie { bytes, length: cookie.len() as u8 })
    }

    /// Bytes of the cookie.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Cookie of 8 bytes, as Linux grants them.
impl From<u64> for Cookie {
    fn from(number: u64) -> Cookie {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Cookie { bytes, length: 8 }
    }
}

/// Cookie of a pair of hosts: the one that the server grants to the client (section 4.1.2) and what the client has cached
/// (section 4.1.3). All connections between the two hosts share it.
#[derive(Debug)]
pub struct Cookies {
    granted: Cookie,
    cached: Mutex<Cached>,
}

/// Cookie that a client has from a server, and the MSS that came with it: more data than fits it does not go with a SYN.
#[derive(Clone, Copy, Debug)]
struct Cached {
    cookie: Option<Cookie>,
    mss: u16,
}

impl Cookies {
    /// Creates the state of a pair of hosts whose server grants `granted`; `warm` means that the client has it already,
    /// with an MSS that is no less than its own.
    pub fn new(granted: Cookie, warm: bool) -> Self {
        Cookies { granted, cached: Mutex::new(Cached { cookie: warm.then_some(granted), mss: u16::MAX }) }
    }

    fn cached(&self) -> Cached {
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cache(&self, cookie: Option<Cookie>, mss: u16) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        *cached = Cached { cookie: cookie.or(cached.cookie), mss };
    }
}

/// The Fast Open option of a SYN (section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieOption {
    /// Request for a cookie.
    Request,
    /// Cookie that the client has, or that the server grants.
    Cookie(Cookie),
}

/// Fast Open state of a connection.
#[derive(Debug)]
pub(crate) struct FastOpen {
    cookies: Arc<Cookies>,
    /// Client: bytes of data sent in a SYN with a cookie.
    pub sent: Option<u16>,
    /// Server: whether the cookie was valid, so that data flows before the client acknowledges the SYN-ACK.
    pub accepted: bool,
    /// Server: whether the SYN-ACK grants a cookie.
    grants: bool,
    /// Whether the application has closed before the connection was established.
    pub closing: bool,
}

impl FastOpen {
    pub fn new(cookies: Arc<Cookies>) -> Self {
        FastOpen { cookies, sent: None, accepted: false, grants: false, closing: false }
    }

    /// Client: option of the first SYN.
    pub fn ask(&self) -> CookieOption {
        self.cookies.cached().cookie.map_or(CookieOption::Request, CookieOption::Cookie)
    }

    /// Whether data goes with the next SYN.
    pub fn has_cookie(&self) -> bool {
        self.cookies.cached().cookie.is_some()
    }

    /// Client: MSS that the server had last time.
    pub fn peer_mss(&self) -> u16 {
        self.cookies.cached().mss
    }

    /// Client: handles the option of the SYN-ACK, and its MSS.
    pub fn on_answer(&mut self, option: Option<CookieOption>, mss: u16) {
        let cookie = match option {
            Some(CookieOption::Cookie(cookie)) => Some(cookie),
            _ => None,
        };
        self.cookies.cache(cookie, mss);
    }

    /// Server: handles the option of a SYN (section 4.2.2); returns whether its data is accepted.
    pub fn on_request(&mut self, option: Option<CookieOption>) -> bool {
        self.accepted = option == Some(CookieOption::Cookie(self.cookies.granted));
        self.grants = option.is_some() && !self.accepted;
        self.accepted
    }

    /// Server: option of the SYN-ACK.
    pub fn answer(&self) -> Option<CookieOption> {
        self.grants.then_some(CookieOption::Cookie(self.cookies.granted))
    }
}
