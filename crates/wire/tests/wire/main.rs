//! The codecs against themselves, against etherparse, and against tshark.

mod capture;
mod ipv4;
mod reader;
mod strategies;
mod tcp;
mod tshark;
