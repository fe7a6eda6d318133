use super::train::UNIT;
use super::{Constructor, LossModel};
use vazao_engine::registry::{Elsewhere, Entry, Kind, Parameter, parameters};

parameters! {
    struct Settings {
        every: u64 = Parameter::required("", Kind::Integer(1, i64::MAX), "n: packets from one loss to the next").eg("100");
        first: u64 = Kind::Integer(0, i64::MAX), "0", "the first packet lost; 0 means the n-th";
        unit: Elsewhere = UNIT;
    }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "periodic",
    aliases: &[],
    title: "Periodic loss",
    source: "Mathis et al. 1997, the model behind 1.22/sqrt(p)",
    help: "every n-th packet is lost",
    parameters: Settings::PARAMETERS,
    build: |p, _| {
        let Settings { every, first, .. } = p.into();
        Box::new(Periodic::new(every, first))
    },
};

/// Every n-th packet is lost.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    every: u64,
    left: u64,
}

impl Periodic {
    /// Loses one packet in `every`, the first of them packet number `first` (0: number `every`).
    pub fn new(every: u64, first: u64) -> Self {
        Periodic { every, left: if first == 0 { every } else { first } }
    }
}

impl LossModel for Periodic {
    fn lose(&mut self, _: u32) -> bool {
        self.left -= 1;
        let lost = self.left == 0;
        if lost {
            self.left = self.every;
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nth_is_lost() {
        let lost = |every, first| {
            let mut model = Periodic::new(every, first);
            (1..=10).filter(|_| model.lose(1)).collect::<Vec<u32>>()
        };
        assert_eq!(lost(4, 0), [4, 8]);
        assert_eq!(lost(4, 1), [1, 5, 9]);
    }
}
