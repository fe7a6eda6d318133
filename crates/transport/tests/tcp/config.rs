//! Settings for tests.

use std::sync::Arc;
use vazao_congestion::{CONGESTION_CONTROLS, SLOW_STARTS, Setup, build, build_slow_start};
use vazao_engine::Duration;
use vazao_engine::registry::{self, Parameters, Raw};
use vazao_transport::ControlFactory;
use vazao_transport::tcp::{Config, Host, Recovery, Validation};

/// Congestion control by name, with initial window and ssthresh in segments.
pub fn control(name: &'static str, window: u64, ssthresh: Option<u64>) -> ControlFactory {
    let known = registry::find("congestion control", CONGESTION_CONTROLS, name).expect(name).parameters;
    // CDG as Linux has it, whose window falls gradually.
    let given = if name == "cdg" { &[("profile".to_owned(), Raw::Text("linux".to_owned()))][..] } else { &[] };
    let parameters = Parameters::resolve(known, &given.iter().cloned().collect()).expect("its parameters");
    let standard = Parameters::defaults(SLOW_STARTS[0].parameters);
    Arc::new(move |mss, seed| {
        let setup = Setup {
            mss,
            initial_window: window * mss,
            initial_ssthresh: ssthresh.map(|segments| segments * mss),
            slow_start: build_slow_start("standard", &standard, 2.0).expect("a slow start"),
            seed,
        };
        build(name, &parameters, setup).expect("a control")
    })
}

/// Everything optional off; segments of 1000 bytes; timers as in RFC 6298.
pub fn plain() -> Config {
    Config {
        mss: 1000,
        recovery: Recovery::NewReno,
        cwv: Some(Validation::None),
        ecn: Some(false),
        undo: false,
        frto: false,
        limited_transmit: false,
        sack: false,
        timestamps: false,
        quick_acks: 0,
        min_rto: Duration::from_secs(1),
        host: Host::Rfc,
        max_rto: Duration::from_secs(60),
        receive_buffer: Some(60_000),
        ..Config::new(&Parameters::defaults(Config::PARAMETERS), control("reno", 10, None))
    }
}
