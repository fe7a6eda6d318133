//! Two ends joined by paths that delay, lose, reorder and duplicate as they are told, in virtual time: for the tests of
//! protocols. A protocol's laboratory implements [`Laboratory`] for its ends and has [`Paths`] between them.

mod paths;
mod weather;

pub use paths::{Arrival, Event, Paths, Sent};
pub use weather::Weather;

use vazao_engine::{Duration, Time};

/// The time so many milliseconds after the start.
pub fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Two ends, 0 and 1, and the paths between them.
pub trait Laboratory {
    /// Packet that the ends exchange.
    type Packet: Clone;

    /// The paths between the ends.
    fn paths(&self) -> &Paths<Self::Packet>;
    /// The paths between the ends.
    fn paths_mut(&mut self) -> &mut Paths<Self::Packet>;
    /// Time of an end's next timer, or of what its application does next.
    fn wake(&self, end: usize) -> Time;
    /// Handles a packet that has arrived.
    fn handle(&mut self, arrival: Arrival<Self::Packet>);
    /// Handles an end's timers, if any is due.
    fn handle_timeout(&mut self, end: usize);
    /// Lets an end's application act, and the end send what it has to send.
    fn serve(&mut self, end: usize);

    /// Sets both ends' timers anew, as a test may have done something to them.
    fn set_timers(&mut self) {
        for end in 0..2 {
            let time = self.wake(end);
            self.paths_mut().wake_at(end, time);
        }
    }

    /// Time of the next event, if nothing was done to the ends since the last.
    fn next_event(&self) -> Time {
        self.paths().next_time()
    }

    /// Handles the next event. False: there is none.
    fn step(&mut self) -> bool {
        self.set_timers();
        let Some(event) = self.paths_mut().next_event() else { return false };
        let end = match event {
            Event::Wake(end) => {
                self.handle_timeout(end);
                end
            }
            Event::Arrival(arrival) => {
                let end = arrival.to;
                self.handle(arrival);
                end
            }
        };
        self.serve(end);
        self.set_timers();
        true
    }

    /// Runs until it is `done`, nothing happens any more, or so many seconds are over.
    fn run_until(&mut self, seconds: u64, mut done: impl FnMut(&Self) -> bool)
    where
        Self: Sized,
    {
        (0..2).for_each(|end| self.serve(end));
        while !done(self) && self.paths().now < at(1000 * seconds) && self.step() {}
    }
}
