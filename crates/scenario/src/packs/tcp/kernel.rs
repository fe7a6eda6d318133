//! TCP as a guest's kernel plays it.

use super::bytes::Bytes;
use crate::model::kernel::{Common, KernelEnd, KernelProtocol};
use vazao_guest_protocol::Transport;

pub(super) const KERNEL: KernelProtocol = KernelProtocol {
    accepted: &["cc", "mss", "initial_window", "sack", "timestamps", "receive_buffer", "send_buffer"],
    translator: Some(|addresses, number| Box::new(Bytes::new(addresses, number))),
    switches: |parameters| {
        [("net.ipv4.tcp_sack", "sack"), ("net.ipv4.tcp_timestamps", "timestamps")]
            .map(|(switch, name)| (switch, parameters.flag(name)))
            .into()
    },
    mtu: |parameters| parameters.integer("mss") + 40 + if parameters.flag("timestamps") { 12 } else { 0 },
    initial_window: |parameters| Some(parameters.integer("initial_window")),
    buffers: |parameters| ["receive_buffer", "send_buffer"].iter().filter_map(|name| parameters.size(name)).sum(),
    common: &[
        Common { words: "mss", per_peer: false, value: |end| end.parameters().integer("mss").to_string() },
        Common {
            words: "sack or timestamps",
            per_peer: false,
            value: |end| format!("{} {}", end.parameters().flag("sack"), end.parameters().flag("timestamps")),
        },
        Common {
            words: "initial_window towards one host",
            per_peer: true,
            value: |end| end.parameters().integer("initial_window").to_string(),
        },
    ],
    ..KernelProtocol::new(transport)
};

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
