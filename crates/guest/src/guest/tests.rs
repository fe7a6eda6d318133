use super::*;
use vazao_guest_protocol::{Event, Report};

#[path = "../../tests/guests/plans.rs"]
mod plans;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Every packet of an upload of 200 kB over 10 ms each way, with its sender and the time.
fn trace(kernel: &Path, page: fn() -> std::io::Result<Page>, run_ahead: bool) -> Vec<(Time, usize, Vec<u8>)> {
    let plans = plans::upload(200_000);
    let mut guests: Vec<Guest> = (0..)
        .zip(&plans)
        .map(|(number, plan)| {
            let moderation = Duration::from_micros(20);
            let boot = Boot {
                name: "test",
                number,
                kernel,
                memory_mib: 48,
                seed: 1,
                cards: 1,
                moderation,
                run_ahead,
                files: &[],
                plan,
            };
            Guest::boot_on(&boot, page, std::time::Duration::from_secs(20), &GO_ON).unwrap_or_else(|e| panic!("{e}"))
        })
        .collect();
    let mut packets: Vec<(Time, usize, Vec<u8>)> = Vec::new();
    let mut arrived = 0;
    loop {
        let arrival = packets.get(arrived).map_or(Time::NEVER, |(sent, ..)| *sent + Duration::from_millis(10));
        let (due, guest) = (0..2).map(|n| (guests[n].next_timeout(), n)).min().expect("two");
        if arrival.min(due) == Time::NEVER {
            break;
        }
        if arrival <= due {
            let (_, from, packet) = &packets[arrived];
            guests[1 - *from].handle(arrival, 0, packet).unwrap();
            arrived += 1;
        } else {
            let until = arrival.min(guests[1 - guest].next_timeout());
            let rest = guests[guest].run_ahead(due, until, &GO_ON).unwrap();
            assert!(rest == due || rest < until, "{rest:?} with {until:?}");
            packets.extend(std::iter::from_fn(|| guests[guest].poll_transmit()).map(|(_, p)| (rest, guest, p)));
        }
    }
    let event = Event::Last { bytes: 200_000, intact: true, ended: true };
    let last = Report::Flow { number: 1, event };
    assert!(guests[1].reports().lines().any(|line| line == encode(&last)));
    packets
}

/// Kernel 6.1 knows messages only, 6.12 both: what it sends must not depend on how it is told the time.
#[test]
fn the_shared_page_and_messages_and_running_ahead_give_the_same_packets() {
    let Some(kernel) = std::env::var_os("VAZAO_KERNEL").filter(|path| !path.is_empty()) else {
        return; // the tests in tests/guests say that they are skipped
    };
    let shared = trace(Path::new(&kernel), Page::new, false);
    let messages = trace(Path::new(&kernel), || Ok(Page::unacceptable()), false);
    assert!(shared.len() > 150);
    assert!(shared == messages, "{} and {} packets", shared.len(), messages.len());
    let ahead = trace(Path::new(&kernel), Page::new, true);
    assert!(shared == ahead, "{} and {} packets", shared.len(), ahead.len());
}
