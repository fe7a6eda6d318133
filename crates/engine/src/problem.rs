//! Problems with something that a user wrote, as data: the sentence, and the likely intended value.

use crate::units::{ALIKE, likeness};
use std::fmt;

/// Problem with something that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The sentence, with what would be accepted.
    pub text: String,
    /// Likely intended value.
    pub suggestion: Option<String>,
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem { text, suggestion: None }
    }
}
impl From<&str> for Problem {
    fn from(text: &str) -> Problem {
        text.to_owned().into()
    }
}
impl From<Problem> for String {
    fn from(problem: Problem) -> String {
        problem.text
    }
}
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Words of the field that people write for a key, and the keys of scenarios that they mean by it, the likeliest first.
#[rustfmt::skip]
const SYNONYMS: &[(&str, &[&str])] = &[
    ("bandwidth", &["rate"]), ("capacity", &["rate", "queue"]), ("speed", &["rate"]), ("bitrate", &["rate"]),
    ("bw", &["rate"]), ("datarate", &["rate"]), ("throughput", &["rate"]), ("link_rate", &["rate"]),
    ("latency", &["delay"]), ("propagation", &["delay"]), ("prop_delay", &["delay"]), ("owd", &["delay"]),
    ("rtt", &["delay"]), ("ping", &["delay"]),
    ("buffer", &["queue", "receive_buffer"]), ("buffer_size", &["queue", "receive_buffer"]), ("qlen", &["queue"]),
    ("queue_size", &["queue"]), ("queue_length", &["queue"]), ("queue_limit", &["queue"]), ("aqm", &["queue"]),
    ("qdisc", &["queue"]), ("limit", &["queue"]), ("txqueuelen", &["queue"]),
    ("plr", &["loss"]), ("per", &["loss"]), ("packet_loss", &["loss"]), ("loss_rate", &["loss"]), ("drop", &["loss"]),
    ("loss_probability", &["loss"]), ("error_rate", &["loss"]), ("variation", &["jitter"]), ("corruption", &["corrupt"]),
    ("reordering", &["reorder"]), ("duplication", &["duplicate"]), ("mangle", &["corrupt"]), ("outage", &["outages"]),
    ("congestion_control", &["cc"]), ("congestion", &["cc"]), ("algorithm", &["cc"]), ("ca", &["cc"]),
    ("tcp", &["cc", "transport"]), ("variant", &["cc"]), ("flavour", &["cc"]), ("flavor", &["cc"]),
    ("protocol", &["transport", "kind"]), ("proto", &["transport", "kind"]), ("type", &["kind"]), ("model", &["kind"]),
    ("application", &["app"]), ("traffic", &["app"]), ("workload", &["app"]),
    ("source", &["client"]), ("src", &["client"]), ("sender", &["client"]), ("from", &["client"]),
    ("destination", &["server"]), ("dst", &["server"]), ("receiver", &["server"]), ("sink", &["server"]), ("to", &["server"]),
    ("begin", &["start", "at"]), ("start_time", &["start"]), ("offset", &["start"]), ("time", &["at", "until", "duration"]),
    ("duration", &["until", "for"]), ("end", &["until"]), ("stop", &["until"]), ("stop_time", &["until"]),
    ("simulation_time", &["until"]), ("sim_time", &["until"]), ("length", &["duration", "size", "until"]),
    ("bytes", &["size"]), ("filesize", &["size"]), ("file_size", &["size"]), ("volume", &["size"]), ("amount", &["size"]),
    ("number", &["count"]), ("flows", &["flow", "count"]), ("connections", &["flow", "count"]), ("n", &["count", "pairs"]),
    ("hosts", &["pairs"]), ("nodes", &["hosts", "pairs"]), ("clients", &["pairs"]), ("links", &["link"]), ("net", &["network"]),
    ("rwnd", &["receive_buffer"]), ("rcvbuf", &["receive_buffer"]), ("receive_window", &["receive_buffer"]),
    ("window", &["receive_buffer"]), ("rmem", &["receive_buffer"]), ("tcp_rmem", &["receive_buffer"]),
    ("sndbuf", &["send_buffer"]), ("wmem", &["send_buffer"]), ("tcp_wmem", &["send_buffer"]),
    ("initcwnd", &["initial_window"]), ("init_cwnd", &["initial_window"]), ("iw", &["initial_window"]),
    ("initial_cwnd", &["initial_window"]), ("segment_size", &["mss"]), ("mtu", &["mss"]), ("rto_min", &["min_rto"]),
    ("random_seed", &["seed"]), ("rng", &["seed"]), ("title", &["name"]), ("id", &["name"]), ("record", &["trace"]),
    ("measures", &["trace"]), ("metrics", &["trace", "measures"]), ("interval", &["every"]),
];

/// Least likeness of a word to a synonym that was meant by it: a letter wrong or missing.
const SURE: f64 = 0.93;

/// Returns which of `known` was probably meant: by its own name, misspelt, or by another word for the same.
fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let spelt = known.iter().map(|&one| (likeness(one, name), one)).filter(|(score, _)| *score > ALIKE);
    let likely = SYNONYMS.iter().map(|(word, keys)| (likeness(word, name), keys)).filter(|(score, _)| *score > SURE);
    let key = |keys: &[&str]| keys.iter().find_map(|key| known.iter().copied().find(|one| one == key));
    let synonyms = likely.filter_map(|(score, keys)| Some((score, key(keys)?)));
    spelt.chain(synonyms).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, one)| one)
}

/// Returns whether a name is another one with a letter wrong, too many or too few, or with two of them swapped.
pub fn is_misspelt(given: &str, name: &str) -> bool {
    let (given, name) = (given.to_lowercase(), name.to_lowercase());
    given != name && name.len() > 2 && strsim::osa_distance(&given, &name) == 1
}

/// Describes a name that is not among `known`.
pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = known.into_iter().collect();
    let suggestion = meant(name, &known).map(str::to_owned);
    let text = match &suggestion {
        Some(near) => format!("unknown {what} {name:?}; did you mean {near:?}?"),
        None if known.is_empty() => format!("unknown {what} {name:?}; none is accepted here"),
        None => format!("unknown {what} {name:?}; known: {}", known.join(", ")),
    };
    Problem { text, suggestion }
}

/// Refused parameter, with the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The parameter's name as typed; in a list of tables also the table's number, from 0 on, and the name in there.
    pub path: Vec<String>,
    /// Problem and accepted values.
    pub problem: Problem,
}

impl ParameterError {
    /// Creates an error about what a path leads to.
    pub fn new(path: &[&str], problem: impl Into<Problem>) -> ParameterError {
        ParameterError { path: path.iter().map(|&step| step.to_owned()).collect(), problem: problem.into() }
    }
    /// Puts a step in front of the path.
    pub(crate) fn within(mut self, step: impl ToString) -> ParameterError {
        self.path.insert(0, step.to_string());
        self
    }
}

impl std::error::Error for ParameterError {}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_slice() {
            [] => write!(f, "{}", self.problem),
            path => write!(f, "{}: {}", path.join("."), self.problem),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: [&str; 6] = ["rate", "shaper", "delay", "overhead", "queue", "loss"];

    #[test]
    fn another_word_for_a_key_is_met_with_the_key() {
        let meant = |name: &str, known: &[&str]| unknown("key", name, known.iter().copied()).suggestion;
        for (word, key) in [
            ("bandwidth", "rate"),
            ("bandwith", "rate"),
            ("Bandwidth", "rate"),
            ("latency", "delay"),
            ("latancy", "delay"),
            ("buffer_size", "queue"),
            ("plr", "loss"),
            ("dealy", "delay"),
        ] {
            assert_eq!(meant(word, &LINK).as_deref(), Some(key), "{word}");
        }
        assert_eq!(meant("flows", &["name", "flow", "network"]).as_deref(), Some("flow"));
        assert_eq!(meant("rwnd", &["receive_buffer", "send_buffer"]).as_deref(), Some("receive_buffer"));
        // A word whose keys are none here is not suggested, and what is like nothing has the list.
        assert_eq!(meant("bandwidth", &["size", "kind"]), None);
        assert_eq!(meant("zzz", &LINK), None);
    }

    #[test]
    fn a_letter_more_or_less_is_a_misspelling() {
        for given in ["flows", "flo", "fluw", "folw", "Flows"] {
            assert!(is_misspelt(given, "flow"), "{given}");
        }
        for given in ["flow", "fool", "f", "network"] {
            assert!(!is_misspelt(given, "flow"), "{given}");
        }
        assert!(!is_misspelt("at", "to"), "two letters are too few to tell");
    }

    #[test]
    fn no_synonym_is_said_twice() {
        for (place, (word, keys)) in SYNONYMS.iter().enumerate() {
            assert!(!keys.is_empty() && !keys.contains(word), "{word}");
            assert!(SYNONYMS[..place].iter().all(|(before, _)| before != word), "{word}");
        }
    }
}
