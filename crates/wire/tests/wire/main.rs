//! The codecs against themselves, against etherparse, and against tshark.

mod capture;
mod ipv4;
mod mptcp;
mod reader;
mod strategies;
mod tcp;
mod tshark;
mod tshark_mptcp;
mod tshark_quic;
