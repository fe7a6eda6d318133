//! The packets of a space that were sent and are not settled, and what of them is to be sent again if they are lost.

use super::frame::{Frame, StreamFrame};
use super::packet::Space;
use crate::common::{DeliveryRate, PacketState, RangeSet};
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use vazao_engine::Time;

/// What of a packet must arrive somehow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Content {
    /// Nothing: what it said is old by now, or will be said anew.
    #[default]
    Nothing,
    /// Data of one stream.
    Stream(StreamFrame),
    /// Anything else.
    Frames(Box<[Frame]>),
}

impl Content {
    fn frames(&self) -> Vec<Frame> {
        match self {
            Content::Nothing => Vec::new(),
            Content::Stream(frame) => vec![Frame::Stream(*frame)],
            Content::Frames(frames) => frames.to_vec(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Outstanding,
    Acknowledged,
    Lost,
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub at: Time,
    /// Bytes that count as in flight: of packets that ask for an acknowledgement, or are padded.
    pub bytes: u32,
    state: State,
    pub eliciting: bool,
    /// Marked as ECN's.
    pub capable: bool,
    /// The largest packet that its ACK frame reported.
    pub reported: Option<u64>,
    pub content: Content,
    pub space: Space,
}

impl Sent {
    pub fn new(at: Time, bytes: u32, eliciting: bool, reported: Option<u64>, content: Content, space: Space) -> Sent {
        Sent { at, bytes, state: State::Outstanding, eliciting, capable: false, reported, content, space }
    }
}

/// The packets of a space from the first that is not settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentPackets {
    packets: VecDeque<Sent>,
    /// What the sampler of delivery rates knows of each.
    rates: Option<Box<(DeliveryRate, VecDeque<PacketState>)>>,
    /// Numbers that acknowledgements have named, so that each counts once.
    acked: RangeSet,
    /// The number of the front one, and of the next to be sent.
    base: u64,
    next: u64,
    /// All before this one are settled, though some that were called lost may be kept.
    settled: u64,
    /// Bytes in flight, and how many packets that ask for an acknowledgement are.
    pub in_flight: u64,
    pub eliciting: u64,
    /// When the last one left that asks for an acknowledgement, and its number.
    pub last_eliciting: Time,
    pub largest_eliciting: u64,
    /// The largest acknowledged.
    pub largest_acked: Option<u64>,
}

impl SentPackets {
    /// Gives back memory that nothing uses any more.
    pub fn shrink(&mut self) {
        self.packets.shrink_to_fit();
        self.acked.shrink();
        if let Some(rates) = &mut self.rates {
            rates.1.shrink_to_fit();
        }
    }
    /// Measures delivery rates from now on.
    pub fn measure_rates(&mut self) {
        self.rates = Some(Box::default());
    }
    /// The sampler, where rates are measured.
    pub fn sampler(&mut self) -> Option<&mut DeliveryRate> {
        self.rates.as_mut().map(|rates| &mut rates.0)
    }
    /// The number of the next packet.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.next
    }
    /// How many packets may still be under way.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.next - self.largest_acked.map_or(0, |largest| largest + 1).min(self.next)
    }

    /// The next packet is sent.
    #[inline]
    pub fn push(&mut self, packet: Sent) {
        if packet.eliciting {
            self.eliciting += 1;
            (self.last_eliciting, self.largest_eliciting) = (packet.at, self.next);
        }
        if let Some(rates) = &mut self.rates {
            let state = rates.0.on_sent(packet.at, self.in_flight, self.in_flight);
            rates.1.push_back(state);
        }
        self.in_flight += u64::from(packet.bytes);
        self.packets.push_back(packet);
        self.next += 1;
    }

    /// A packet, if it is not settled.
    #[inline]
    fn outstanding(&mut self, number: u64) -> Option<&mut Sent> {
        let index = number.checked_sub(self.base)?;
        self.packets.get_mut(index as usize).filter(|packet| packet.state == State::Outstanding)
    }

    #[inline]
    fn settle(&mut self, number: u64, state: State) -> Option<Sent> {
        let packet = self.outstanding(number)?;
        packet.state = state;
        let Sent { at, bytes, eliciting, capable, reported, space, .. } = *packet;
        let content = std::mem::take(&mut packet.content);
        self.in_flight -= u64::from(bytes);
        self.eliciting -= u64::from(eliciting);
        Some(Sent { at, bytes, state, eliciting, capable, reported, content, space })
    }

    /// An acknowledgement names these: the parts of them that none has named before.
    #[inline]
    pub fn note_acked(&mut self, start: u64, end: u64, parts: &mut Vec<(u64, u64)>) {
        if end > self.base {
            self.acked.insert(start.max(self.base), end, |from, to| parts.push((from, to)));
        }
    }

    /// The peer has this one. `None`: that was known, or it had been called lost.
    #[inline]
    pub fn acknowledge(&mut self, number: u64) -> Option<Sent> {
        let packet = self.settle(number, State::Acknowledged)?;
        if let Some(rates) = &mut self.rates {
            let index = (number - self.base) as usize;
            rates.0.on_delivered(number + 1, &rates.1[index]);
        }
        Some(packet)
    }

    /// Whether this one was called lost, of those in flight, and has arrived after all.
    pub fn was_called_lost(&mut self, number: u64) -> bool {
        let index = number.checked_sub(self.base);
        let packet = index.and_then(|index| self.packets.get_mut(index as usize));
        packet.is_some_and(|packet| {
            let was = packet.state == State::Lost;
            if was {
                packet.state = State::Acknowledged;
            }
            was && packet.bytes > 0
        })
    }

    /// This one is lost.
    pub fn lose(&mut self, number: u64) -> Option<Sent> {
        self.settle(number, State::Lost)
    }

    /// The first that may not be settled.
    #[inline]
    pub fn first_unsettled(&self) -> u64 {
        self.settled
    }

    /// Passes over what is settled from the first on that was not.
    #[inline]
    pub fn pass_settled(&mut self) {
        while let Some(packet) = self.packets.get((self.settled - self.base) as usize)
            && packet.state != State::Outstanding
        {
            self.settled += 1;
        }
    }

    /// Forgets what is settled at the front. What was called lost is kept until it is older than `before`, should it arrive
    /// after all.
    #[inline]
    pub fn forget_settled(&mut self, before: Time) {
        self.pass_settled();
        while let Some(front) = self.packets.front() {
            let done = match front.state {
                State::Outstanding => false,
                State::Acknowledged => true,
                State::Lost => front.at < before,
            };
            if !done {
                break;
            }
            self.packets.pop_front();
            if let Some(rates) = &mut self.rates {
                rates.1.pop_front();
            }
            self.base += 1;
        }
        self.acked.remove_below(self.base);
    }

    /// Those from the first that may not be settled.
    #[inline]
    fn unsettled(&self) -> Iter<'_, Sent> {
        self.packets.range((self.settled - self.base) as usize..)
    }

    /// The numbers of all that is not settled up to `number`, in order, with when they were sent.
    pub fn outstanding_through(&self, number: u64) -> impl Iterator<Item = (u64, Time)> + '_ {
        let numbered = (self.settled..=number).zip(self.unsettled());
        numbered.filter(|(_, sent)| sent.state == State::Outstanding).map(|(number, sent)| (number, sent.at))
    }

    /// The oldest that asks for an acknowledgement.
    pub fn oldest_eliciting(&self) -> Option<u64> {
        let oldest = self.unsettled().position(|sent| sent.state == State::Outstanding && sent.eliciting)?;
        Some(self.settled + oldest as u64)
    }

    /// What the oldest that asks for an acknowledgement said.
    pub fn oldest_frames(&self) -> Option<Vec<Frame>> {
        let number = self.oldest_eliciting()?;
        Some(self.packets[(number - self.base) as usize].content.frames())
    }

    /// What all said that are not settled.
    pub fn outstanding_frames(&self) -> Vec<Frame> {
        let outstanding = self.unsettled().filter(|sent| sent.state == State::Outstanding);
        outstanding.flat_map(|sent| sent.content.frames()).collect()
    }

    /// What is under way counts as in flight no more.
    pub fn forget_flight(&mut self) {
        self.packets.iter_mut().for_each(|packet| packet.bytes = 0);
        self.in_flight = 0;
    }

    /// All that is not settled was in vain; what it said.
    pub fn take_outstanding(&mut self) -> Vec<Sent> {
        let numbers = self.base..self.next;
        numbers.filter_map(|number| self.settle(number, State::Acknowledged)).collect()
    }

    /// Everything is forgotten: its keys were discarded (RFC 9002 section 6.4).
    pub fn discard(&mut self) {
        self.packets.clear();
        if let Some(rates) = &mut self.rates {
            rates.1.clear();
        }
        (self.base, self.settled) = (self.next, self.next);
        (self.in_flight, self.eliciting) = (0, 0);
    }
}
