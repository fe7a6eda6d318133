use super::{Constructor, LossModel};
use vazao_engine::RandomStream;
use vazao_engine::registry::{Entry, Kind, Parameter, parameters};

parameters! {
    struct Settings { rate: f64 = Parameter::required("", Kind::Number(0.0, 1.0), "probability that a bit is wrong").eg("1e-6"); }
}

pub(crate) const ENTRY: Entry<Constructor> = Entry {
    name: "bit-errors",
    aliases: &["ber"],
    title: "Bit errors",
    source: "independent errors of a binary symmetric channel",
    help: "each bit is wrong with the same probability and the link's checksum drops the packet: long ones suffer more",
    parameters: Settings::PARAMETERS,
    build: |p, stream| Box::new(BitErrors { log_right: libm::log1p(-Settings::from(p).rate), stream }),
};

/// Bits are wrong with a probability each; a packet with one that is gets lost: 1 - (1 - rate)^(8 size) of those of a size.
#[derive(Clone, Debug)]
pub struct BitErrors {
    /// Logarithm of the probability that a bit is right.
    log_right: f64,
    stream: RandomStream,
}

impl LossModel for BitErrors {
    fn lose(&mut self, size: u32) -> bool {
        self.stream.uniform() < -libm::expm1(8.0 * f64::from(size) * self.log_right)
    }
}
