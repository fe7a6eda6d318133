//! Numbers that a run's packets have in its captures, whether it is captured or not.

use super::recording::Sections;
use crate::model::address::Addresses;
use crate::model::scenario::Scenario;

/// Place of a packet in a capture: the interface, and its number there from 1 on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frame {
    interface: u32,
    number: u32,
}

impl Frame {
    /// Returns the place of a packet in a capture that there is.
    pub fn new(interface: u32, number: u64) -> Frame {
        Frame { interface, number: number.try_into().unwrap_or(u32::MAX) }
    }

    /// Returns the same number at another interface.
    pub fn at(self, interface: u32) -> Frame {
        Frame { interface, ..self }
    }
}

/// Counts of the packets at all interfaces.
#[derive(Default)]
pub(crate) struct Frames {
    names: Vec<String>,
    /// Interfaces of client and server at the ends of each flow's paths.
    ends: Vec<Vec<[usize; 2]>>,
    counts: Vec<u32>,
    /// Place of the guest's packet that leaves next.
    leaving: Option<Frame>,
}

impl Frames {
    /// Creates the counts of a scenario; none, if its packets cannot be captured.
    pub fn new(scenario: &Scenario, addresses: &Addresses) -> Frames {
        let codec = |number: usize| (scenario.flows[number].transport.pack().codec)(scenario, addresses, number);
        if (0..scenario.flows.len()).any(|number| codec(number).is_err()) {
            return Frames::default();
        }
        let sockets = |number: usize| addresses.sockets[number].map(|socket| socket.interface);
        let ends = addresses.paths.iter().enumerate().map(|(number, paths)| match &paths[..] {
            [] => vec![sockets(number)],
            paths => paths.to_vec(),
        });
        Frames {
            names: addresses.interfaces.iter().map(|interface| interface.name.clone()).collect(),
            ends: ends.collect(),
            counts: vec![0; addresses.interfaces.len()],
            leaving: None,
        }
    }

    /// Returns the interface at a side's end of a flow's path.
    pub fn interface(&self, flow: usize, path: usize, side: usize) -> Option<usize> {
        let paths = self.ends.get(flow)?;
        paths.get(path).or(paths.first()).map(|ends| ends[side])
    }

    /// Counts a packet at an interface.
    pub fn count(&mut self, interface: Option<usize>) -> Frame {
        let Some((interface, count)) = interface.and_then(|at| Some((at, self.counts.get_mut(at)?))) else {
            return Frame::default();
        };
        *count += 1;
        Frame { interface: interface as u32, number: *count }
    }

    /// Counts a guest's packet that leaves next.
    pub fn leave(&mut self, interface: usize) {
        self.leaving = Some(self.count(Some(interface)));
    }

    /// Takes the place of the guest's packet that leaves.
    pub fn take_leaving(&mut self) -> Frame {
        self.leaving.take().unwrap_or_default()
    }

    /// Returns the names of the interfaces.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Writes where packets were sent or have arrived, as `name`.
pub(super) fn write(sections: &mut Sections, name: &str, frames: impl ExactSizeIterator<Item = Frame> + Clone) {
    sections.u32(name, frames.clone().map(|frame| frame.number));
    sections.u32(&format!("{name}_at"), frames.map(|frame| frame.interface));
}
