//! Stream schedulers of RFC 8260 section 3.

use vazao_engine::registry::choice;

choice! {
    /// Stream scheduler, asked for each chunk if messages may be interleaved (I-DATA), otherwise for each message.
    pub enum StreamScheduler {
        /// SCTP_SS_FCFS: messages in the order in which they were written.
        FirstComeFirstServed = "fcfs",
        /// SCTP_SS_RR: streams in turn.
        RoundRobin = "round-robin",
        /// SCTP_SS_RR_PKT: streams in turn, one per packet, so that a lost packet affects one stream only.
        RoundRobinPerPacket = "round-robin-per-packet",
        /// SCTP_SS_PRIO: the stream of the highest priority; ties in turn.
        Priority = "priority",
        /// SCTP_SS_FB: the same share of bytes for each stream.
        FairBandwidth = "fair-bandwidth",
        /// SCTP_SS_WFQ: a share of bytes in proportion to each stream's weight.
        WeightedFairQueueing = "weighted-fair-queueing",
    }
}

/// Stream with data to send, as schedulers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Global number of its next message.
    pub message: u64,
    /// Distance behind the stream served last, in turn, from 0 for the next one.
    pub distance: u64,
    /// Priority of the stream; lower values go first.
    pub priority: u64,
    /// Virtual finish time of what it would send ([`Share`]).
    pub finish: u64,
}

impl StreamScheduler {
    /// Sort key: the candidate with the least rank goes first.
    pub fn rank(self, candidate: &Candidate) -> (u64, u64) {
        let Candidate { message, distance, priority, finish } = *candidate;
        match self {
            StreamScheduler::FirstComeFirstServed => (message, 0),
            StreamScheduler::RoundRobin | StreamScheduler::RoundRobinPerPacket => (distance, 0),
            StreamScheduler::Priority => (priority, distance),
            StreamScheduler::FairBandwidth | StreamScheduler::WeightedFairQueueing => (finish, distance),
        }
    }

    /// Whether a packet holds chunks of one stream only.
    pub fn keeps_packets_apart(self) -> bool {
        self == StreamScheduler::RoundRobinPerPacket
    }
}

/// Fair-queueing state of a stream, by self-clocked tags (Golestani, *A self-clocked fair queueing scheme for broadband
/// applications*, INFOCOM 1994): a transmission finishes bytes / weight after the stream's previous one, or after the
/// current one if the stream was idle meanwhile, and the first to finish goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Virtual finish time of its last transmission.
    pub tag: u64,
    /// Weight of the stream.
    pub weight: u64,
}

impl Share {
    /// Virtual finish time of `bytes` more.
    pub fn finish(&self, bytes: u64) -> u64 {
        // Scaled so that weights up to a million are distinguished.
        self.tag + (bytes << 20) / self.weight.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANDIDATES: [Candidate; 3] = [
        Candidate { message: 9, distance: 0, priority: 2, finish: 70 },
        Candidate { message: 4, distance: 1, priority: 1, finish: 80 },
        Candidate { message: 7, distance: 2, priority: 1, finish: 60 },
    ];

    #[test]
    fn each_scheduler_follows_its_definition() {
        let first = |scheduler: StreamScheduler| (0..3).min_by_key(|&i| scheduler.rank(&CANDIDATES[i]));
        for &(name, scheduler) in StreamScheduler::ALL {
            let expected = match name {
                "fcfs" | "priority" => 1,
                "round-robin" | "round-robin-per-packet" => 0,
                _ => 2,
            };
            assert_eq!(first(scheduler), Some(expected), "{name}");
        }
    }

    /// Streams with weights 3 and 1 that always have messages of 1000 and 500 bytes get 3 bytes to 1, to within a
    /// message of each at any time (the bound of Golestani's theorem 1 for two sessions).
    #[test]
    fn shares_go_with_weights() {
        let mut shares = [Share { tag: 0, weight: 3 }, Share { tag: 0, weight: 1 }];
        let sizes = [1000, 500];
        let mut sent = [0_u64; 2];
        for _ in 0..1000 {
            let next = usize::from(shares[1].finish(sizes[1]) < shares[0].finish(sizes[0]));
            shares[next].tag = shares[next].finish(sizes[next]);
            sent[next] += sizes[next];
            assert!((sent[0] as f64 / 3.0 - sent[1] as f64).abs() <= 1000.0 / 3.0 + 500.0, "{sent:?}");
        }
    }
}
