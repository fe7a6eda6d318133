//! Personalities of TCP: one word for the settings that make ours behave like another implementation by default. Every other
//! key overrides them.

use crate::document::reader::{Item, Table};
use crate::document::{Node, Result, Toml, parse};
use vazao_congestion::CONGESTION_CONTROLS;
use vazao_engine::registry::{Entry, Kind, Parameter, find};
use vazao_transport::mptcp;

/// Key of a transport.
pub(crate) const KEY: Parameter = Parameter::new(
    "like",
    Kind::Entry("personality"),
    "",
    "whose TCP it is like, or { client = …, server = … }; every other key overrides what that word stands for",
);

/// Keys of a transport and their values as TOML.
type Settings = &'static [(&'static str, &'static str)];

/// Defaults of an implementation.
pub struct Personality {
    settings: Settings,
    /// Settings of Multipath TCP beside those of its subflows.
    multipath: Settings,
    /// Profile of its congestion controls, where implementations differ.
    profile: &'static str,
    /// Further settings that go with a congestion control.
    controls: &'static [(&'static str, Settings)],
}

impl Personality {
    /// Returns everything that it stands for: key, value as TOML, and the congestion control that it goes with unless it
    /// goes with all.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &'static str, Option<&'static str>)> {
        let all = self.settings.iter().chain(self.multipath).map(|(key, value)| (*key, *value, None));
        let with = |(control, settings): &(&'static str, Settings)| {
            let control = *control;
            settings.iter().map(move |(key, value)| (*key, *value, Some(control)))
        };
        all.chain(self.controls.iter().flat_map(with))
    }

    /// Returns the parameter of TCP or Multipath TCP that a key sets.
    pub fn parameter(key: &str) -> Option<&'static Parameter> {
        super::SETTINGS.iter().chain(mptcp::Config::PARAMETERS).find(|parameter| parameter.name == key)
    }

    /// Sets its defaults for the keys that a table of TCP lacks, or of Multipath TCP.
    fn supply(&self, table: &mut Table, control: &str, is_multipath: bool) -> Result<()> {
        let with = self.controls.iter().filter(|(name, _)| *name == control).flat_map(|(_, settings)| *settings);
        let multipath = if is_multipath { self.multipath } else { &[] };
        let settings = self.settings.iter().chain(multipath).chain(with);
        let text: String = settings.map(|(key, value)| format!("{key} = {value}\n")).collect();
        if let Toml::Table(entries) = parse(&text)?.value {
            entries.into_iter().for_each(|(key, node)| table.supply(&key, node));
        }
        Ok(())
    }
}

/// Settings of ns-3's controls that count acknowledgements in every phase, or in slow start alone.
const BY_ACKS: Settings = &[("counting", "\"acks\"")];
const SLOW_START_BY_ACKS: Settings = &[("abc_limit", "1")];

/// All personalities.
pub const PERSONALITIES: &[Entry<Personality>] = &[
    Entry {
        name: "rfc",
        aliases: &["ietf"],
        title: "The RFCs' TCP",
        source: "RFC 9293, RFC 5681, RFC 6298, RFC 6675, RFC 1122 section 4.2.3.2",
        help: "what the RFCs say, and their rules in congestion controls whose implementations differ (profile)",
        parameters: &[],
        build: Personality {
            settings: &[
                ("host", "\"rfc\""),
                ("recovery", "\"sack\""),
                ("min_rto", "\"1 s\""),
                ("delayed_ack_timeout", "\"200 ms\""),
                ("quick_acks", "0"),
            ],
            multipath: &[],
            profile: "rfc",
            controls: &[],
        },
    },
    Entry {
        name: "linux",
        aliases: &[],
        title: "Linux's TCP",
        source: "Linux 6.12, net/ipv4, with HZ = 250",
        help: "what Linux does by default, and its rules in congestion controls whose implementations differ (profile)",
        parameters: &[],
        build: Personality {
            settings: &[
                ("host", "\"linux\""),
                ("recovery", "\"rack\""),
                ("abc_limit", "1000"),
                ("bursts", "\"deferred\""),
                ("tick", "\"4 ms\""),
                ("nagle", "true"),
                ("tcp_rmem", "\"6 MiB\""),
                ("tcp_wmem", "\"4 MiB\""),
            ],
            multipath: &[("scheduler", "\"least-linger\""), ("subflow_windows", "true")],
            profile: "linux",
            controls: &[
                ("cubic", &[("slow_start", "\"hystart\"")]),
                (
                    "cdg",
                    &[(
                        "slow_start",
                        "{ kind = \"hystart\", low_window = 0, spacing = \"3 ms\", least_rise = \"125 us\", \
                         most_rise = \"60 s\" }",
                    )],
                ),
            ],
        },
    },
    Entry {
        name: "ns3",
        aliases: &["ns-3"],
        title: "ns-3's TCP",
        source: "ns-3.37, TcpSocketBase and its congestion controls",
        help: "what ns-3 does by default, and its rules in congestion controls whose implementations differ (profile)",
        parameters: &[],
        build: Personality {
            settings: &[
                ("host", "\"rfc\""),
                ("recovery", "\"sack\""),
                ("prr", "true"),
                ("sack_profile", "\"ns3\""),
                ("mss", "536"),
                ("receive_buffer", "\"128 KiB\""),
                ("send_buffer", "\"128 KiB\""),
                ("min_rto", "\"1 s\""),
                ("delayed_ack_timeout", "\"200 ms\""),
                ("quick_acks", "1"),
                ("cwv", "\"grow\""),
                ("rtt", "\"timestamps\""),
            ],
            multipath: &[],
            profile: "ns3",
            controls: &[
                ("reno", BY_ACKS),
                ("htcp", BY_ACKS),
                ("hybla", BY_ACKS),
                ("tcp-lp", BY_ACKS),
                ("veno", BY_ACKS),
                ("westwood", BY_ACKS),
                ("westwood-plus", BY_ACKS),
                ("highspeed", SLOW_START_BY_ACKS),
                ("illinois", SLOW_START_BY_ACKS),
                ("vegas", SLOW_START_BY_ACKS),
                ("bic", SLOW_START_BY_ACKS),
                ("ledbat", SLOW_START_BY_ACKS),
                ("scalable", SLOW_START_BY_ACKS),
                ("yeah", SLOW_START_BY_ACKS),
                ("bbr", &[("abc_limit", "1000")]),
                ("cubic", &[("abc_limit", "1000"), ("slow_start", "{ kind = \"hystart\", profile = \"ns3\" }")]),
            ],
        },
    },
    Entry {
        name: "ns2",
        aliases: &["ns-2"],
        title: "ns-2's TCP",
        source: "ns-2.35, Agent/TCP/Sack1 and Agent/TCPSink/Sack1 with the values of ns-default.tcl",
        help: "what ns-2's one-way agents with SACK do by default; their window is 20 segments, whatever the congestion control",
        parameters: &[],
        build: Personality {
            settings: &[
                ("host", "\"ns2\""),
                ("recovery", "\"pipe\""),
                ("mss", "1000"),
                ("initial_window", "2"),
                ("abc_limit", "1"),
                ("delayed_ack", "1"),
                ("quick_acks", "0"),
                ("timestamps", "false"),
                ("min_rto", "\"200 ms\""),
                ("initial_rto", "\"3 s\""),
                ("receive_buffer", "\"20 kB\""),
            ],
            multipath: &[],
            profile: "ns2",
            controls: &[],
        },
    },
];

/// Returns a transport's description for the client and for the server, if each has a personality of its own.
pub(crate) fn of_sides(transport: &Item) -> Result<Option<[Item; 2]>> {
    let Toml::Table(keys) = &transport.node.value else { return Ok(None) };
    let is_of_sides = |(key, node): &(String, Node)| key == KEY.name && matches!(node.value, Toml::Table(_));
    let Some(place) = keys.iter().position(is_of_sides) else { return Ok(None) };
    let Some(like) = transport.clone().into_table()?.take(KEY.name) else { return Ok(None) };
    let mut words = like.into_table()?;
    let sides = [words.take("client"), words.take("server")];
    words.finish()?;
    Ok(Some(sides.map(|word| {
        let mut side = transport.clone();
        if let Toml::Table(keys) = &mut side.node.value {
            match word {
                Some(word) => keys[place].1 = word.node,
                None => drop(keys.remove(place)),
            }
        }
        side
    })))
}

/// Takes the personality out of TCP's table, and sets its defaults for missing keys.
pub(crate) fn apply(table: &mut Table) -> Result<()> {
    take(table, false)
}

/// Does the same with Multipath TCP's table.
pub(crate) fn apply_to_subflows(table: &mut Table) -> Result<()> {
    take(table, true)
}

fn take(table: &mut Table, is_multipath: bool) -> Result<()> {
    let Some(item) = table.take(KEY.name) else { return Ok(()) };
    let (entry, rest) = item.entry("personality", PERSONALITIES)?;
    rest.finish()?;
    let control = profiled(table.take("cc"), entry.build.profile)?;
    let name = kind(&control.node).unwrap_or_default().to_owned();
    table.put_back("cc", control);
    entry.build.supply(table, &name, is_multipath)
}

/// Returns the name of a congestion control.
fn kind(control: &Node) -> Option<&str> {
    match &control.value {
        Toml::Text(name) => Some(name),
        _ => control.at("kind").and_then(kind),
    }
}

/// Adds a profile to a congestion control that supports it and has none; the default control is CUBIC.
fn profiled(control: Option<Item>, profile: &str) -> Result<Item> {
    let mut control = control.unwrap_or_else(|| Item::named("cubic"));
    // An unknown control is refused where it is read.
    let entry = kind(&control.node).and_then(|name| find("congestion control", CONGESTION_CONTROLS, name).ok());
    let known = entry.and_then(|entry| entry.parameters.iter().find(|parameter| parameter.name == "profile"));
    let has = known.is_some_and(|known| matches!(known.kind, Kind::Choice(choices) if choices.contains(&profile)));
    if has && control.node.at("profile").is_none() {
        control.node.set("profile", Toml::Text(profile.into()))?;
    }
    Ok(control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scenario::Scenario;

    fn transport(text: &str) -> String {
        let text = format!(
            "[network]\ntopology = \"point-to-point\"\nlink = {{ rate = \"1 Mbps\" }}\n[[flow]]\n\
             app = {{ kind = \"upload\", size = \"1 kB\" }}\ntransport = {{ {text} }}\n"
        );
        let json = Scenario::load(&text, "", Vec::new(), None).expect("a scenario").json();
        serde_json::from_str::<serde_json::Value>(&json).expect("an object")["flow"][0]["transport"].to_string()
    }

    /// One word is as good as what it stands for, and what is written beside it goes before.
    #[test]
    fn a_word_stands_for_its_settings() {
        let long = "kind = \"tcp\", host = \"linux\", recovery = \"rack\", abc_limit = 1000, bursts = \"deferred\", \
                    tick = \"4 ms\", nagle = true, tcp_rmem = \"6 MiB\", tcp_wmem = \"4 MiB\"";
        let hystart = "slow_start = \"hystart\", cc = { kind = \"cubic\", profile = \"linux\" }";
        assert_eq!(transport("kind = \"tcp\", like = \"linux\""), transport(&format!("{long}, {hystart}")));
        assert_eq!(
            transport("kind = \"tcp\", like = \"linux\", cc = \"reno\", abc_limit = 2, tick = \"1 ms\""),
            transport(&format!(
                "{}, cc = {{ kind = \"reno\", profile = \"linux\" }}",
                long.replace("1000", "2").replace("4 ms", "1 ms")
            ))
        );
        let kept = transport("kind = \"tcp\", like = \"linux\", cc = { kind = \"cubic\", profile = \"rfc9438\" }");
        assert!(kept.contains("rfc9438") && kept.contains("hystart"), "{kept}");
    }

    /// Multipath TCP's word stands for its scheduler too, TCP's does not.
    #[test]
    fn a_word_stands_for_a_scheduler_of_multipath_tcp() {
        let linux = transport("kind = \"mptcp\", like = \"linux\"");
        assert!(linux.contains("least-linger") && linux.contains("\"subflow_windows\":true"), "{linux}");
        let written = transport("kind = \"mptcp\", like = \"linux\", scheduler = \"blest\"");
        assert!(written.contains("blest") && !written.contains("least-linger"), "{written}");
        assert!(transport("kind = \"mptcp\"").contains("lowest-rtt"));
    }

    /// Each side can be like another; a side that is not named has the defaults, and one word for both is that word.
    #[test]
    fn each_side_has_its_own_word() {
        let both = transport("kind = \"tcp\", like = { client = \"ns3\", server = \"ns3\" }");
        assert_eq!(both, transport("kind = \"tcp\", like = \"ns3\""));
        let mixed = transport("kind = \"tcp\", like = { client = \"ns3\", server = \"linux\" }");
        let (sender, receiver) = mixed.split_once("\"receiver\":").expect("a receiver of its own");
        assert!(receiver.contains("\"tick\":") && !both.contains("\"receiver\":"), "{receiver}");
        assert!(sender.contains("\"mss\":536") && !receiver.contains("\"mss\":536"), "{sender}");
        let one = transport("kind = \"tcp\", like = { server = \"rfc\" }");
        let (_, receiver) = one.split_once("\"receiver\":").expect("a receiver of its own");
        assert!(receiver.contains("\"host\":\"rfc\""), "{receiver}");
    }

    /// Every word is understood with every congestion control, and stands for parameters of TCP.
    #[test]
    fn every_word_goes_with_every_control() {
        for entry in PERSONALITIES {
            for control in CONGESTION_CONTROLS {
                transport(&format!("kind = \"tcp\", like = \"{}\", cc = \"{}\"", entry.name, control.name));
            }
            for (key, _, with) in entry.build.settings() {
                assert!(Personality::parameter(key).is_some(), "{}: {key}", entry.name);
                assert!(with.is_none_or(|name| find("congestion control", CONGESTION_CONTROLS, name).is_ok()));
            }
        }
    }
}
