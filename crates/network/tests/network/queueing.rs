//! Queues whose mean wait is known.

use crate::lab::{ENDLESS, Lab};
use vazao_engine::{RandomStream, Time};

/// M/D/1 (Pollaczek and Khinchine): packets of service time S that come at random with load u wait u S / (2 (1 - u)) on
/// average. The spread over ten independent runs gives the error; five standard errors of their mean are allowed.
#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    const SERVICE: f64 = 1e-3;
    for load in [0.3, 0.6, 0.8] {
        let wait = |seed: u64| {
            let mut stream = RandomStream::new(seed, "arrivals");
            let mut lab = Lab::new(&[(8_000_000, 0, 0, ENDLESS)]);
            let mut now = 0.0;
            for _ in 0..100_000 {
                now += stream.exponential(SERVICE / load);
                lab.send((now * 1e9) as u64, 1000);
            }
            lab.finish();
            lab.network.report(0, Time::from_nanos((now * 1e9) as u64)).queue_delay_mean.unwrap()
        };
        let waits: Vec<f64> = (1..=10).map(wait).collect();
        let mean = waits.iter().sum::<f64>() / 10.0;
        let error = (waits.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / 90.0).sqrt();
        let expected = load * SERVICE / (2.0 * (1.0 - load));
        assert!((mean - expected).abs() < 5.0 * error, "load {load}: {mean} s, not {expected} s (error {error})");
        // And the error is small enough for that to mean something.
        assert!(error < 0.02 * expected, "load {load}: error {error}");
    }
}
