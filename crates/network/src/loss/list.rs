use super::train::UNIT;
use super::{Constructor, LossModel};
use vazao_engine::registry::{Elsewhere, Entry, Kind, Parameter, parameters};

parameters! {
    struct Settings {
        packets: Vec<u64> = Parameter::required("", Kind::Integers, "numbers of the packets to lose").eg("[30]");
        unit: Elsewhere = UNIT;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "list",
    aliases: &[],
    title: "Listed loss",
    source: "scripted",
    help: "the packets with these numbers are lost, counted from 1 in the order of sending",
    parameters: Settings::PARAMETERS,
    build: |p, _| Box::new(List::new(&Settings::from(p).packets)),
};

/// The packets with the given numbers are lost.
#[derive(Clone, Debug)]
pub struct List {
    /// Numbers still to come, the next one last.
    pending: Vec<u64>,
    count: u64,
}

impl List {
    /// Loses the packets numbered `packets`, counted from 1 in the order of sending; order and repeats do not matter.
    pub fn new(packets: &[u64]) -> Self {
        let mut pending = packets.to_vec();
        pending.sort_unstable_by(|a, b| b.cmp(a));
        pending.dedup();
        List { pending, count: 0 }
    }
}

impl LossModel for List {
    fn lose(&mut self, _: u32) -> bool {
        self.count += 1;
        let lost = self.pending.last() == Some(&self.count);
        if lost {
            self.pending.pop();
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn just_the_listed_packets_are_lost() {
        let mut model = List::new(&[7, 2, 3, 2]);
        assert_eq!((1..=10).filter(|_| model.lose(1)).collect::<Vec<u32>>(), [2, 3, 7]);
    }
}
