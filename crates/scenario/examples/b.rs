fn main() {
    let n: usize = std::env::args().nth(1).map_or(1, |x| x.parse().unwrap());
    let rate: u64 = std::env::args().nth(2).map_or(1_000_000_000, |x| x.parse().unwrap());
    let secs: u64 = std::env::args().nth(3).map_or(20, |x| x.parse().unwrap());
    let t = std::time::Instant::now();
    let (h, e, u) = vazao_scenario::bench_once(n, rate, secs);
    let dt = t.elapsed().as_secs_f64();
    println!("{n} flows: {h} hops {e} events {dt:.3} s {:.1} Mhops/s util {u}", h as f64 / dt / 1e6);
}
