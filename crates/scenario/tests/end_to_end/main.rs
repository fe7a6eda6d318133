//! Whole runs, from TOML to tables, against closed forms and published numbers.

mod applications;
mod associations;
mod bbr;
mod coupled;
mod datagrams;
mod delays;
mod determinism;
mod ecn;
mod impairments;
mod lab;
mod losses;
mod middleboxes;
mod multipath;
mod queues;
mod quic;
mod response;
mod sawtooth;
mod set_up;
mod sharing;
mod slow_start;
mod subflows;
mod topologies;
mod traffic;
mod unblocking;
mod wire;
