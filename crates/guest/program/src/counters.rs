//! Counters of the kernel's protocols over the whole run: /proc/net/netstat, /proc/net/snmp and SCTP's own.

use std::fs;
use vazao_guest_protocol::Report;

/// The counters that explain a run, by group. Those that are zero are not reported.
const SELECTED: &[(&str, &[&str])] = &[
    ("Ip", &["InReceives", "OutRequests", "InDiscards", "OutDiscards", "OutNoRoutes", "ReasmFails"]),
    (
        "Tcp",
        &[
            "ActiveOpens",
            "PassiveOpens",
            "AttemptFails",
            "EstabResets",
            "InSegs",
            "OutSegs",
            "RetransSegs",
            "InErrs",
            "OutRsts",
        ],
    ),
    ("Udp", &["InDatagrams", "NoPorts", "InErrors", "OutDatagrams", "RcvbufErrors", "SndbufErrors", "InCsumErrors"]),
    (
        "TcpExt",
        &[
            "TCPTimeouts",
            "TCPLossProbes",
            "TCPLossProbeRecovery",
            "TCPFastRetrans",
            "TCPSlowStartRetrans",
            "TCPRetransFail",
            "TCPSynRetrans",
            "TCPLostRetransmit",
            "TCPSpuriousRTOs",
            "TCPSackRecovery",
            "TCPRenoRecovery",
            "TCPSACKReneging",
            "TCPSACKReorder",
            "TCPTSReorder",
            "TCPDSACKRecv",
            "TCPDSACKUndo",
            "TCPFullUndo",
            "TCPPartialUndo",
            "TCPLossUndo",
            "TCPOFOQueue",
            "TCPOFODrop",
            "TCPRcvQDrop",
            "TCPBacklogDrop",
            "TCPRcvCollapsed",
            "TCPZeroWindowDrop",
            "TCPToZeroWindowAdv",
            "TCPHystartTrainDetect",
            "TCPHystartDelayDetect",
            "TCPAbortOnTimeout",
            "TCPAbortOnData",
            "DelayedACKs",
            "ListenDrops",
        ],
    ),
    ("MPTcpExt", &["MPCapableSYNACKRX", "MPCapableFallbackSYNACK", "MPJoinAckRx", "MPJoinSynAckRx", "MPTCPRetrans"]),
    (
        "Sctp",
        &["SctpT3RtxExpireds", "SctpFastRetransSacks", "SctpT3Retransmits", "SctpFastRetransmits", "SctpInPktDiscards"],
    ),
];

/// Reports the selected counters.
pub fn report() {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default(); // a kernel without SCTP has no such file
    let mut found = pairs(&read("/proc/net/snmp"));
    found.extend(pairs(&read("/proc/net/netstat")));
    found.extend(columns("Sctp", &read("/proc/net/sctp/snmp")));
    for (group, name, value) in found {
        if value != 0 && SELECTED.iter().any(|(known, names)| *known == group && names.contains(&name.as_str())) {
            crate::report::report(&Report::Counter { group, name, value });
        }
    }
}

type Counter = (String, String, i64);

/// Reads pairs of lines: `Group: names`, `Group: values`.
fn pairs(text: &str) -> Vec<Counter> {
    let lines: Vec<&str> = text.lines().collect();
    let mut counters = Vec::new();
    for pair in lines.chunks_exact(2) {
        let Some((group, names)) = pair[0].split_once(": ") else { continue };
        let values = pair[1].split_whitespace().skip(1);
        for (name, value) in names.split_whitespace().zip(values) {
            counters.push((group.to_owned(), name.to_owned(), value.parse().unwrap_or(0)));
        }
    }
    counters
}

/// Reads lines of a name and a value.
fn columns(group: &str, text: &str) -> Vec<Counter> {
    let line = |line: &str| {
        let (name, value) = line.split_once(char::is_whitespace)?;
        Some((group.to_owned(), name.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_in_both_layouts() {
        let text = "Tcp: RtoMin MaxConn InSegs\nTcp: 200 -1 7\nUdp: NoPorts\nUdp: 3\n";
        let counter = |group: &str, name: &str, value| (group.to_owned(), name.to_owned(), value);
        let expected = [
            counter("Tcp", "RtoMin", 200),
            counter("Tcp", "MaxConn", -1),
            counter("Tcp", "InSegs", 7),
            counter("Udp", "NoPorts", 3),
        ];
        assert_eq!(pairs(text), expected);
        assert_eq!(columns("Sctp", "SctpCurrEstab  \t4\nodd\n"), [counter("Sctp", "SctpCurrEstab", 4)]);
    }

    #[test]
    fn the_machine_at_hand_has_the_counters_that_are_selected() {
        let text = fs::read_to_string("/proc/net/netstat").unwrap() + &fs::read_to_string("/proc/net/snmp").unwrap();
        let found = pairs(&text);
        for (group, names) in SELECTED.iter().filter(|(group, _)| found.iter().any(|(known, _, _)| known == group)) {
            for name in *names {
                assert!(found.iter().any(|(g, n, _)| g == group && n == name), "{group}.{name}");
            }
        }
    }
}
