//! Sent packets of a packet number space, and the content to retransmit if they are lost.

use super::frame::{Frame, StreamFrame};
use super::packet::Space;
use crate::common::{DeliveryRate, PacketState, RangeSet};
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use vazao_engine::Time;

/// Content of a packet that must be delivered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Content {
    /// None: its frames are not retransmitted, or are rebuilt.
    #[default]
    Nothing,
    Stream(StreamFrame),
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

#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub at: Time,
    /// Bytes that count as in flight, of ack-eliciting or padded packets.
    pub bytes: u32,
    state: State,
    pub eliciting: bool,
    /// Whether it was sent as ECN-capable.
    pub capable: bool,
    /// Largest packet number acknowledged by its ACK frame.
    pub reported: Option<u64>,
    pub content: Content,
    pub space: Space,
}

impl Sent {
    pub fn new(at: Time, bytes: u32, eliciting: bool, reported: Option<u64>, content: Content, space: Space) -> Sent {
        Sent { at, bytes, state: State::Outstanding, eliciting, capable: false, reported, content, space }
    }
}

/// Sent packets of a space, from the first unsettled one on.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentPackets {
    packets: VecDeque<Sent>,
    /// Delivery rate sampler and its state per packet.
    rates: Option<Box<(DeliveryRate, VecDeque<PacketState>)>>,
    /// Packet numbers already acknowledged, so that each counts once.
    acked: RangeSet,
    /// Numbers of the front packet and of the next to send.
    base: u64,
    next: u64,
    /// First packet that may be unsettled; lost ones before it may still be kept.
    settled: u64,
    /// Bytes in flight, and number of ack-eliciting packets in flight.
    pub in_flight: u64,
    pub eliciting: u64,
    /// Send time and number of the last ack-eliciting packet.
    pub last_eliciting: Time,
    pub largest_eliciting: u64,
    /// Largest acknowledged packet number.
    pub largest_acked: Option<u64>,
}

impl SentPackets {
    /// Frees unused memory.
    pub fn shrink(&mut self) {
        self.packets.shrink_to_fit();
        self.acked.shrink();
        if let Some(rates) = &mut self.rates {
            rates.1.shrink_to_fit();
        }
    }
    pub fn measure_rates(&mut self) {
        self.rates = Some(Box::default());
    }
    /// Delivery rate sampler, if rates are measured.
    pub fn sampler(&mut self) -> Option<&mut DeliveryRate> {
        self.rates.as_mut().map(|rates| &mut rates.0)
    }
    /// Number of the next packet.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.next
    }
    /// Number of packets that may be in flight.
    #[inline]
    pub fn unacknowledged(&self) -> u64 {
        self.next - self.largest_acked.map_or(0, |largest| largest + 1).min(self.next)
    }

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

    /// Returns a packet that is neither acknowledged nor lost.
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

    /// Records acknowledged packet numbers; reports the parts not acknowledged before.
    #[inline]
    pub fn note_acked(&mut self, start: u64, end: u64, parts: &mut Vec<(u64, u64)>) {
        if end > self.base {
            self.acked.insert(start.max(self.base), end, |from, to| parts.push((from, to)));
        }
    }

    /// Acknowledges a packet. `None`: it was acknowledged before, or declared lost.
    #[inline]
    pub fn acknowledge(&mut self, number: u64) -> Option<Sent> {
        let packet = self.settle(number, State::Acknowledged)?;
        if let Some(rates) = &mut self.rates {
            let index = (number - self.base) as usize;
            rates.0.on_delivered(number + 1, &rates.1[index]);
        }
        Some(packet)
    }

    /// Acknowledges a packet that was declared lost and counted as in flight. `None`: it is none, or forgotten.
    pub fn acknowledge_lost(&mut self, number: u64) -> Option<Sent> {
        let index = number.checked_sub(self.base)?;
        let packet = self.packets.get_mut(index as usize).filter(|packet| packet.state == State::Lost)?;
        packet.state = State::Acknowledged;
        let content = std::mem::take(&mut packet.content);
        Some(Sent { content, ..packet.clone() }).filter(|packet| packet.bytes > 0)
    }

    /// Declares a packet lost. Its content is kept too, as it may yet arrive.
    pub fn declare_lost(&mut self, number: u64) -> Option<Sent> {
        let lost = self.settle(number, State::Lost)?;
        self.packets[(number - self.base) as usize].content = lost.content.clone();
        Some(lost)
    }

    #[inline]
    pub fn first_unsettled(&self) -> u64 {
        self.settled
    }

    /// Advances `settled` over packets that are settled.
    #[inline]
    pub fn pass_settled(&mut self) {
        while let Some(packet) = self.packets.get((self.settled - self.base) as usize)
            && packet.state != State::Outstanding
        {
            self.settled += 1;
        }
    }

    /// Removes settled packets from the front; lost ones once they are older than `before`, as they may yet arrive.
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

    /// Packets from the first unsettled one on.
    #[inline]
    fn unsettled(&self) -> Iter<'_, Sent> {
        self.packets.range((self.settled - self.base) as usize..)
    }

    /// Numbers and send times of all outstanding packets up to `number`, in order.
    pub fn outstanding_through(&self, number: u64) -> impl Iterator<Item = (u64, Time)> + '_ {
        let numbered = (self.settled..=number).zip(self.unsettled());
        numbered.filter(|(_, sent)| sent.state == State::Outstanding).map(|(number, sent)| (number, sent.at))
    }

    /// Oldest outstanding ack-eliciting packet.
    pub fn oldest_eliciting(&self) -> Option<u64> {
        let oldest = self.unsettled().position(|sent| sent.state == State::Outstanding && sent.eliciting)?;
        Some(self.settled + oldest as u64)
    }

    /// Frames of the oldest outstanding ack-eliciting packet.
    pub fn oldest_frames(&self) -> Option<Vec<Frame>> {
        let number = self.oldest_eliciting()?;
        Some(self.packets[(number - self.base) as usize].content.frames())
    }

    pub fn outstanding_frames(&self) -> Vec<Frame> {
        let outstanding = self.unsettled().filter(|sent| sent.state == State::Outstanding);
        outstanding.flat_map(|sent| sent.content.frames()).collect()
    }

    /// Stops counting outstanding packets as in flight.
    pub fn forget_flight(&mut self) {
        self.packets.iter_mut().for_each(|packet| packet.bytes = 0);
        self.in_flight = 0;
    }

    /// Removes and returns all outstanding packets, without declaring them lost.
    pub fn take_outstanding(&mut self) -> Vec<Sent> {
        let numbers = self.base..self.next;
        numbers.filter_map(|number| self.settle(number, State::Acknowledged)).collect()
    }

    /// Removes everything, because the keys were discarded (RFC 9002 section 6.4).
    pub fn discard(&mut self) {
        self.packets.clear();
        if let Some(rates) = &mut self.rates {
            rates.1.clear();
        }
        (self.base, self.settled) = (self.next, self.next);
        (self.in_flight, self.eliciting) = (0, 0);
    }
}
