//! The unmodified Linux kernel, as a guest in virtual time.

mod settings;

use crate::document::reader::Item;
use crate::document::{Result, Toml};
use crate::model::plugin::ControlSpec;
use crate::model::stack::{Mechanism, Part, Play, Stack};
use vazao_engine::registry::unknown;

pub(super) const ENTRY: Stack = Stack {
    player: "a Linux guest",
    transports: Some(TRANSPORTS),
    controls: CONTROLS,
    read_control,
    parameters: settings::PARAMETERS,
    read: settings::read,
    describe: settings::describe,
    decision: "the kernel's own decision with stack = \"linux\"; leave it out, or see sysctl and module",
    unfit,
    effort: 1.0,
    ..Stack::new("linux", "the Linux kernel", Mechanism::Guest)
};

const TRANSPORTS: &[Play] = &[
    Play {
        accepted: Some(&[
            "cc",
            "mss",
            "initial_window",
            "sack",
            "timestamps",
            "receive_buffer",
            "send_buffer",
            "tcp_rmem",
            "tcp_wmem",
            "metrics",
        ]),
        ..Play::new("tcp")
    },
    Play { apart: |_| Some("has two stacks, but over udp both sides have the same so far"), ..Play::new("udp") },
    Play {
        accepted: Some(&["multihomed", "interleaving"]),
        apart: |guest| {
            let problem = "netem: what a guest loses of SCTP before it leaves cannot be read by ours, which counts chunks; \
                           write stack = \"linux\" for both sides, or the loss of a link of the network";
            (guest.netem != [0.0; 2]).then_some(problem)
        },
        ..Play::new("sctp")
    },
    Play { accepted: Some(&["cc", "path_manager", "metrics"]), ..Play::new("mptcp") },
];

/// Congestion controls of Linux: our name and the kernel's. Linux's Westwood is called Westwood+ elsewhere.
const CONTROLS: &[(&str, &str)] = &[
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bic", "bic"),
    ("westwood-plus", "westwood"),
    ("westwood", "westwood"),
    ("htcp", "htcp"),
    ("highspeed", "highspeed"),
    ("hybla", "hybla"),
    ("vegas", "vegas"),
    ("nv", "nv"),
    ("scalable", "scalable"),
    ("tcp-lp", "lp"),
    ("veno", "veno"),
    ("yeah", "yeah"),
    ("illinois", "illinois"),
    ("dctcp", "dctcp"),
    ("cdg", "cdg"),
    ("bbr", "bbr"),
];

fn read_control(item: &Item) -> Result<Option<ControlSpec>> {
    // A study may write a name as a table with nothing but its kind.
    let item = match &item.node.value {
        Toml::Table(_) => {
            let mut table = item.clone().into_table()?;
            let kind = table.require("kind", "the name of a congestion control")?;
            table.finish_with("is not known: parameters of the kernel's own controls are set by module = { … }")?;
            kind
        }
        _ => item.clone(),
    };
    let name = item.text()?;
    match CONTROLS.iter().find(|(ours, _)| *ours == name) {
        Some((ours, _)) => Ok(Some(ControlSpec::bare(ours))),
        None => Err(item.error(unknown("congestion control of Linux", name, CONTROLS.iter().map(|c| c.0)))),
    }
}

/// Returns why a guest cannot play a part: it writes at a pace, or as fast as it can.
fn unfit(part: &Part<'_>) -> Option<&'static str> {
    if part.sides.is_program() {
        return None;
    }
    let source = part.sides.source();
    if part.is_datagrams {
        let problem = "is not possible over udp with stack = \"linux\"; write an upload, whose rate is the transport's";
        return part.sides.is_paced().then_some(problem);
    }
    let varies = source.is_none_or(|source| source.is_paced() && source.pace().is_none());
    let problem =
        "is not what a guest can play; with stack = \"linux\" write upload, download, cbr, messages or command";
    (varies && (part.sends || source.is_none())).then_some(problem)
}
