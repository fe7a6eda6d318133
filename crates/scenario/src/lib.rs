//! The scenario model: validation, building and running a world, collecting measures.

mod measure;
mod probe;
mod world;

pub use world::Stopped;

#[doc(hidden)]
pub fn bench_once(flows: usize, rate: u64, secs: u64) -> (u64, u64, f64) {
    use std::sync::Arc;
    use vazao_engine::*;
    use vazao_engine::registry::Parameters;
    use vazao_transport::tcp::*;
    let mut sched = Wheel::default();
    let mut net = vazao_network::Network::default();
    let big = (100_000u32, u64::MAX);
    let bdp = rate / 8 / 100;
    let mut ids = vec![];
    for _ in 0..2 { ids.push(net.add_link(Rate::from_bps(rate), Duration::from_micros(4800), 0, (u32::MAX, bdp), &mut sched)); }
    let mut acc = vec![];
    for _ in 0..flows {
        let a: Vec<_> = (0..4).map(|_| net.add_link(Rate::from_bps(10_000_000_000), Duration::from_micros(100), 0, big, &mut sched)).collect();
        acc.push(a);
    }
    let mut w = world::World::new(net, sched, probe::Silent);
    let config = Arc::new(Config { mss: 1448, recovery: Recovery::Sack, limited_transmit: true, sack: true, timestamps: true, delayed_ack: 2,
        delayed_ack_timeout: Duration::from_millis(40), quick_acks: 16, min_rto: Duration::from_millis(200), initial_rto: Duration::from_secs(1), max_rto: Duration::from_secs(60), retries: 15, receive_buffer: None, send_buffer: None,
        control: Arc::new(|mss| {
            let p = std::env::var("CC").unwrap_or("cubic".into());
            let e = vazao_engine::registry::find("cc", vazao_congestion::CONGESTION_CONTROLS, &p).unwrap();
            (e.build)(&Parameters::defaults(e.parameters), vazao_congestion::Setup { mss, initial_window: 10 * mss, initial_ssthresh: None, slow_start: vazao_congestion::build_slow_start("standard", &Parameters::default(), 2.0).unwrap() })
        }) });
    for a in &acc {
        let r1 = w.network.add_route(&[a[0], ids[0], a[2]]);
        let r2 = w.network.add_route(&[a[3], ids[1], a[1]]);
        let app = (vazao_application::APPLICATIONS[0].build)(&Parameters::default());
        w.add_flow(Time::ZERO, true, [(Connection::connect(config.clone(), 77), app.client, r1), (Connection::listen(config.clone(), 99), app.server, r2)], measure::FlowMeasure::new(bdp));
    }
    w.run(Some(Time::ZERO + Duration::from_secs(secs)), &std::sync::atomic::AtomicBool::new(false)).unwrap();
    let s = w.endpoints[0].connection.stats();
    println!("retx {} timeouts {} recoveries {} events {}", s.retransmissions, s.timeouts, s.recoveries, w.events);
    let rep = w.network.report(ids[0], w.now);
    println!("{rep:?}");
    (w.network.hops(), w.events, rep.utilisation)
}
