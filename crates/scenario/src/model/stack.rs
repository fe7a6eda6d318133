//! Stacks: the implementations that can play an end of a flow, and what each answers for itself.

use super::extensions::Extensions;
use super::guest::GuestSpec;
use super::plugin::ControlSpec;
use crate::document::Result;
use crate::document::reader::{Item, Table};
use serde_json::{Map, Value as Json};
use vazao_application::Sides;
use vazao_engine::registry::{Parameter, Parameters};

/// Mechanism of the engine by which a stack plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Machines of ours in the world.
    Machine,
    /// Guest in virtual time that is a whole host and exchanges bytes.
    Guest,
    /// Library in the world, which plays both ends of a connection.
    Library,
    /// Simulator that runs the whole scenario instead of the world.
    Simulator,
}

impl Mechanism {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Machine => "machine",
            Mechanism::Guest => "guest",
            Mechanism::Library => "library",
            Mechanism::Simulator => "simulator",
        }
    }
}

/// Stack: everything that depends on it, filled in by its part of `stacks`.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Name in scenarios.
    pub name: &'static str,
    /// Name in sentences.
    pub(crate) title: &'static str,
    /// Words for what plays an end of a flow.
    pub(crate) player: &'static str,
    /// Mechanism by which it plays.
    pub mechanism: Mechanism,
    /// Transports that it plays; `None`: all.
    pub(crate) transports: Option<&'static [Play]>,
    /// Congestion controls that only it has, by our name and by its own.
    pub(crate) controls: &'static [(&'static str, &'static str)],
    /// Reads one of its controls, if one is named; all others are the registry's.
    pub(crate) read_control: fn(&Item) -> Result<Option<ControlSpec>>,
    /// Keys of a transport that only it has.
    pub(crate) parameters: &'static [Parameter],
    /// Takes its keys out of a transport's table, whatever stacks play that, or refuses them.
    pub(crate) read: fn(&mut Table, Stacks, &Extensions, &mut GuestSpec) -> Result<()>,
    /// Adds its keys to the canonical form of a transport that it plays.
    pub(crate) describe: fn(&mut Map<String, Json>, Stacks, &GuestSpec),
    /// Words for who decides what it does not accept, and what to write.
    pub(crate) decision: &'static str,
    /// Refuses keys that it would ignore as the sender with this congestion control.
    pub(crate) refuse: fn(&Table, &ControlSpec) -> Result<()>,
    /// Refuses values that it does not accept as the sender; the table has the keys that were written.
    pub(crate) check: fn(&Table, &ControlSpec, &Parameters) -> Result<()>,
    /// Returns why it cannot play a side of an application.
    pub(crate) unfit: fn(&Part<'_>) -> Option<&'static str>,
    /// Time for a packet as a part of a Linux guest's.
    pub(crate) effort: f64,
    /// Bytes of memory that an end of a flow takes beside what its transport takes.
    pub(crate) memory: u64,
}

/// Stacks of client and server.
pub(crate) type Stacks = [&'static Stack; 2];

/// Transport as a stack plays it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Play {
    /// Name of the transport.
    pub transport: &'static str,
    /// Parameters that it accepts where it plays both sides: it decides the others. `None`: all.
    pub accepted: Option<&'static [&'static str]>,
    /// Returns why it cannot play with another stack at the other side.
    pub apart: fn(&GuestSpec) -> Option<&'static str>,
}

/// Side of an application that a stack is to play.
pub(crate) struct Part<'a> {
    pub sides: &'a Sides,
    /// Whether it sends the measured data.
    pub sends: bool,
    /// Whether the transport carries datagrams without feedback.
    pub is_datagrams: bool,
}

impl Play {
    /// Creates a transport that is played with every parameter, and with every stack at the other side.
    pub const fn new(transport: &'static str) -> Play {
        Play { transport, accepted: None, apart: |_| None }
    }
}

impl Stack {
    /// Creates a stack that plays every transport, with the registry's congestion controls and no keys of its own.
    pub const fn new(name: &'static str, title: &'static str, mechanism: Mechanism) -> Stack {
        Stack {
            name,
            title,
            player: title,
            mechanism,
            transports: None,
            controls: &[],
            read_control: |_| Ok(None),
            parameters: &[],
            read: |_, _, _, _| Ok(()),
            describe: |_, _, _| (),
            decision: "the stack's own decision; leave it out",
            refuse: |_, _| Ok(()),
            check: |_, _, _| Ok(()),
            unfit: |_| None,
            effort: 0.0,
            memory: 0,
        }
    }

    /// Returns how it plays a transport, if it does.
    pub(crate) fn play(&self, transport: &str) -> Option<Play> {
        match self.transports {
            Some(known) => known.iter().find(|play| play.transport == transport).copied(),
            None => Some(Play::new("")),
        }
    }

    /// Returns whether it plays a transport.
    pub fn plays(&self, transport: &str) -> bool {
        self.play(transport).is_some()
    }

    /// Returns its own name of a congestion control that only it has.
    pub(crate) fn own_control(&self, name: &str) -> Option<&'static str> {
        self.controls.iter().find(|(ours, _)| *ours == name).map(|(_, own)| *own)
    }

    /// Returns whether guests play it.
    pub(crate) fn is_guest(&self) -> bool {
        self.mechanism == Mechanism::Guest
    }
}

impl PartialEq for Stack {
    fn eq(&self, other: &Stack) -> bool {
        self.name == other.name
    }
}
