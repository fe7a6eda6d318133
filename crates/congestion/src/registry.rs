//! Every congestion control and slow start, by name.

use crate::slow_start::{HyStart, Limited, SlowStart, Standard};
use crate::window::{Bic, Cubic, HighSpeed, Reno, Scalable, Vegas, Westwood, Window};
use crate::{CongestionControl, Controller, Setup};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, Parameter, Parameters};

/// Makes a congestion control from its parameters and the window it starts with.
pub type Constructor = fn(&Parameters, Setup) -> Box<dyn CongestionControl>;

/// Boxes a window-based algorithm inside the shared controller.
fn windowed<W: Window>(window: W, setup: Setup) -> Box<dyn CongestionControl> {
    Box::new(Controller::new(setup, window))
}

/// The parameter that BIC and CUBIC share.
const FAST_CONVERGENCE: Parameter = Parameter::new(
    "fast_convergence",
    Kind::Flag,
    "true",
    "whether a loss below the last maximum lowers the maximum further, to make room for others",
);

/// Whether Linux's variant of a control is wanted instead of its source's.
const PROFILE: Parameter = Parameter::new(
    "profile",
    Kind::Choice(&["rfc", "linux"]),
    "rfc",
    "whose rules where implementations differ: the source's (RFC or paper), or Linux 6, which counts whole segments",
);

/// All congestion controls.
pub const CONGESTION_CONTROLS: &[Entry<Constructor>] = &[
    Entry {
        name: "reno",
        aliases: &["newreno"],
        title: "Reno",
        source: "RFC 5681",
        help: "one segment more each round trip, half on loss: what every other control is measured against",
        parameters: &[PROFILE],
        build: |p, setup| windowed(Reno::from(p), setup),
    },
    Entry {
        name: "highspeed",
        aliases: &["hstcp"],
        title: "HighSpeed TCP",
        source: "RFC 3649",
        help: "Reno whose increase rises and whose decrease falls with the window, for very large windows",
        parameters: &[
            PROFILE,
            Parameter::new(
                "low_window",
                Kind::Number(2.0, 10_000.0),
                "38",
                "window in segments up to which Reno rules (RFC 3649 section 5: Low_Window)",
            ),
            Parameter::new(
                "high_window",
                Kind::Number(20_000.0, 1e8),
                "83000",
                "window in segments that high_p sustains (section 5: High_Window)",
            ),
            Parameter::new(
                "high_p",
                Kind::Number(1e-12, 1e-4),
                "1e-7",
                "loss probability at high_window (section 5: High_P)",
            ),
            Parameter::new(
                "high_decrease",
                Kind::Number(0.01, 0.5),
                "0.1",
                "part of the window given up on loss at high_window (section 5: High_Decrease)",
            ),
        ],
        build: |p, setup| windowed(HighSpeed::from(p), setup),
    },
    Entry {
        name: "scalable",
        aliases: &["stcp"],
        title: "Scalable TCP",
        source: "Kelly, CCR 33(2), 2003",
        help: "grows by 1 % of what is acknowledged, falls by 1/8: recovers in the same time from any window",
        parameters: &[
            PROFILE,
            Parameter::new("increase", Kind::Number(1e-4, 0.5), "0.01", "a: part of the bytes acknowledged added"),
            Parameter::new("decrease", Kind::Number(0.01, 0.9), "0.125", "b: part of the window given up on loss"),
            Parameter::new(
                "legacy_window",
                Kind::Number(0.0, 1e6),
                "16",
                "lwnd: window in segments up to which Reno rules",
            ),
        ],
        build: |p, setup| windowed(Scalable::from(p), setup),
    },
    Entry {
        name: "bic",
        aliases: &[],
        title: "BIC TCP",
        source: "Xu, Harfoush, Rhee, INFOCOM 2004",
        help: "binary search for the window between the last that was lost and the one after it",
        parameters: &[
            PROFILE,
            Parameter::new(
                "s_max",
                Kind::Number(1.0, 10_000.0),
                "",
                "most segments of growth a round trip (Smax); default: 32, Linux 16",
            ),
            Parameter::new("s_min", Kind::Number(1e-4, 1.0), "0.01", "fewest segments of growth a round trip (Smin)"),
            Parameter::new(
                "beta",
                Kind::Number(0.1, 0.99),
                "",
                "part of the window kept on loss; default: 0.8, Linux 819/1024",
            ),
            Parameter::new("low_window", Kind::Number(0.0, 1e6), "14", "window in segments below which Reno rules"),
            FAST_CONVERGENCE,
        ],
        build: |p, setup| windowed(Bic::from(p), setup),
    },
    Entry {
        name: "cubic",
        aliases: &[],
        title: "CUBIC",
        source: "RFC 9438",
        help: "the window is a cubic function of the time since the last loss, whatever the round-trip time",
        parameters: &[
            Parameter::new(
                "profile",
                Kind::Choice(&["rfc", "linux", "ns3"]),
                "rfc",
                "whose rules where implementations differ: RFC 9438, Linux 6, ns-3 up to 3.41",
            ),
            Parameter::new(
                "c",
                Kind::Number(1e-3, 100.0),
                "",
                "C in segments per cubic second (section 5: 0.4; Linux 410/1024); default: the profile's",
            ),
            Parameter::new(
                "beta",
                Kind::Number(0.1, 0.99),
                "",
                "part of the window kept on loss (section 4.6: 0.7; Linux 717/1024); default: the profile's",
            ),
            FAST_CONVERGENCE,
        ],
        build: |p, setup| windowed(Cubic::from(p), setup),
    },
    Entry {
        name: "vegas",
        aliases: &[],
        title: "TCP Vegas",
        source: "Brakmo, Peterson, JSAC 13(8), 1995",
        help: "keeps alpha to beta segments of its own in queues, seen from the round-trip time, without loss",
        parameters: &[
            PROFILE,
            Parameter::new(
                "alpha",
                Kind::Number(0.0, 1000.0),
                "",
                "segments in queues below which the window grows; default: 1, Linux 2 (the paper uses both)",
            ),
            Parameter::new(
                "beta",
                Kind::Number(0.0, 1000.0),
                "",
                "segments in queues above which it shrinks; default: 3, Linux 4 (the paper uses both)",
            ),
            Parameter::new("gamma", Kind::Number(0.0, 1000.0), "1", "segments in queues above which slow start ends"),
        ],
        build: |p, setup| windowed(Vegas::from(p), setup),
    },
    Entry {
        name: "westwood",
        aliases: &[],
        title: "TCP Westwood",
        source: "Mascolo, Casetti, Gerla, Sanadidi, Wang, MobiCom 2001",
        help: "Reno that falls to the estimated bandwidth times the least round-trip time instead of to half",
        parameters: &[
            PROFILE,
            Parameter::new(
                "tau",
                Kind::Duration(Duration::from_millis(1), Duration::from_secs(60)),
                "500 ms",
                "time constant of the bandwidth filter (section 2.2)",
            ),
            Parameter::new(
                "tick",
                Kind::Duration(Duration::from_micros(1), Duration::from_millis(50)),
                "10 ms",
                "of the kernel's clock, by which the Linux profile measures (HZ = 100)",
            ),
        ],
        build: |p, setup| windowed(Westwood::from(p), setup),
    },
];

/// Makes a slow start from its parameters and RFC 3465's limit L in segments an acknowledgement.
type SlowStartConstructor = fn(&Parameters, f64) -> Box<dyn SlowStart>;

/// A span that a slow start compares with round-trip times.
const SPAN: Kind = Kind::Duration(Duration::from_nanos(1), Duration::from_secs(60));

/// All slow starts.
pub const SLOW_STARTS: &[Entry<SlowStartConstructor>] = &[
    Entry {
        name: "standard",
        aliases: &[],
        title: "Standard slow start",
        source: "RFC 5681 section 3.1, RFC 3465",
        help: "the window doubles each round trip until a loss",
        parameters: &[],
        build: |_, limit| Box::new(Standard { limit }),
    },
    Entry {
        name: "limited",
        aliases: &[],
        title: "Limited slow start",
        source: "RFC 3742",
        help: "above max_ssthresh the window grows by at most max_ssthresh/2 a round trip",
        parameters: &[Parameter::new(
            "max_ssthresh",
            Kind::Integer(2, 1_000_000),
            "100",
            "where the limit begins, in segments",
        )],
        build: |p, limit| Box::new(Limited { standard: Standard { limit }, max_ssthresh: p.number("max_ssthresh") }),
    },
    Entry {
        name: "hystart",
        aliases: &[],
        title: "HyStart",
        source: "Ha, Rhee, Computer Networks 55(9), 2011; constants of Linux 5.6 and later",
        help: "ends slow start without a loss, when a train of acknowledgements or the delay shows that the path is full",
        parameters: &[
            Parameter::new(
                "detect",
                Kind::Choice(&["both", "train", "delay"]),
                "both",
                "what ends it: a train of acknowledgements as long as the forward delay, a rise in delay, or either",
            ),
            Parameter::new(
                "low_window",
                Kind::Number(0.0, 1e6),
                "16",
                "window in segments below which nothing ends it",
            ),
            Parameter::new("spacing", SPAN, "2 ms", "acknowledgements at most so far apart belong to one train"),
            Parameter::new("least_rise", SPAN, "4 ms", "rise in delay that ends it at least; between: RTT/8"),
            Parameter::new("most_rise", SPAN, "16 ms", "rise in delay that ends it at most"),
        ],
        build: |p, limit| Box::new(HyStart::from(p, limit)),
    },
];

/// Builds a congestion control by name, as `parameters` were resolved from its entry.
///
/// # Errors
/// A sentence with the nearest name when there is no such control.
pub fn build(name: &str, parameters: &Parameters, setup: Setup) -> Result<Box<dyn CongestionControl>, String> {
    vazao_engine::registry::find("congestion control", CONGESTION_CONTROLS, name)
        .map(|entry| (entry.build)(parameters, setup))
}

/// Builds a slow start by name; `limit` is RFC 3465's L.
///
/// # Errors
/// A sentence with the nearest name when there is no such slow start.
pub fn build_slow_start(name: &str, parameters: &Parameters, limit: f64) -> Result<Box<dyn SlowStart>, String> {
    vazao_engine::registry::find("slow start", SLOW_STARTS, name).map(|entry| (entry.build)(parameters, limit))
}
