//! QUIC version 1: packets (RFC 9000), what protects them (RFC 9001), and a connection's identifiers, handshake and keys
//! made up from a number, so that packets that were only counted can be written down and read by others.

mod frame;
mod keys;
mod number;
mod packet;
mod session;

pub use frame::{Frame, read_frames};
pub use keys::{Keys, TAG};
pub use number::{expand_number, number_bytes, put_varint, take_varint};
pub use packet::{Header, Kind, Protected, VERSION, decode, encode, encode_retry};
pub use session::{Identifier, Session, Setup, parameter};
