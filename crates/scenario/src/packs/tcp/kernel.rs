//! TCP as a guest's kernel plays it.

use super::bytes::Bytes;
use crate::model::scenario::{Common, KernelEnd, KernelProtocol};
use vazao_engine::registry::Parameters;
use vazao_guest_protocol::Transport;

pub(super) const KERNEL: KernelProtocol = KernelProtocol {
    translator: Some(|addresses, number| Box::new(Bytes::new(addresses, number))),
    sysctls: |parameters| {
        let options = [("net.ipv4.tcp_sack", "sack"), ("net.ipv4.tcp_timestamps", "timestamps")];
        let options = options.map(|(name, key)| (name, u8::from(parameters.flag(key)).to_string()));
        options.into_iter().chain(limits(parameters)).chain(memory(parameters)).collect()
    },
    mtu: |parameters| parameters.integer("mss") + 40 + if parameters.flag("timestamps") { 12 } else { 0 },
    initial_window: |parameters| Some(parameters.integer("initial_window")),
    buffers: |parameters| {
        let sizes = ["receive_buffer", "send_buffer", "tcp_rmem", "tcp_wmem"];
        sizes.iter().filter_map(|name| parameters.size(name)).sum()
    },
    common: &[
        Common { words: "mss", per_peer: false, value: |end| end.parameters().integer("mss").to_string() },
        Common {
            words: "sack or timestamps",
            per_peer: false,
            value: |end| format!("{} {}", end.parameters().flag("sack"), end.parameters().flag("timestamps")),
        },
        Common {
            words: "tcp_rmem or tcp_wmem",
            per_peer: false,
            value: |end| format!("{:?} {:?}", end.parameters().size("tcp_rmem"), end.parameters().size("tcp_wmem")),
        },
        Common {
            words: "initial_window towards one host",
            per_peer: true,
            value: |end| end.parameters().integer("initial_window").to_string(),
        },
        METRICS,
    ],
    ..KernelProtocol::new(transport)
};

/// Whether a kernel remembers paths: of a host, not of a flow.
pub(in crate::packs) const METRICS: Common =
    Common { words: "metrics", per_peer: false, value: |end| end.parameters().flag("metrics").to_string() };

/// Returns the given limits of automatic buffers, each beside a buffer's least and first size.
fn limits(parameters: &Parameters) -> impl Iterator<Item = (&'static str, String)> {
    let limits = [("net.ipv4.tcp_rmem", "tcp_rmem", 131_072), ("net.ipv4.tcp_wmem", "tcp_wmem", 16_384)];
    limits.into_iter().filter_map(|(name, key, first)| {
        let most = parameters.size(key)?;
        Some((name, format!("4096 {} {most}", most.min(first))))
    })
}

/// Returns the switches with which a kernel keeps what connections leave (`net/ipv4/tcp_metrics.c`). Thresholds have one of
/// their own since Linux 5.6, which leaves them out unless told otherwise.
pub(in crate::packs) fn memory(parameters: &Parameters) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let switches = ["net.ipv4.tcp_no_metrics_save", "net.ipv4.tcp_no_ssthresh_metrics_save"];
    let wanted = parameters.flag("metrics");
    switches.into_iter().filter(move |_| wanted).map(|switch| (switch, "0".to_owned()))
}

fn transport(end: &KernelEnd<'_>) -> Result<Transport, String> {
    let buffer = |name: &str| {
        let fits = |bytes| i32::try_from(bytes).map_err(|_| format!("{name} = {bytes} B is more than Linux can have"));
        end.parameters().size(name).map(fits).transpose()
    };
    Ok(Transport::Tcp {
        control: end.control().to_owned(),
        send_buffer: buffer("send_buffer")?,
        receive_buffer: buffer("receive_buffer")?,
    })
}
