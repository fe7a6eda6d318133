import { lowerBound } from "../drawing/search";
import { Fate, type Recording } from "./recording";

/** One leg of a packet's way, over one link. */
export interface Leg {
  link: number;
  from: string;
  to: string;
  /** Time when it reached the link's queue. */
  came: number;
  /** Nanoseconds that it waited in the queue; NaN if it never reached the link's end, or nobody knows. */
  wait: number;
  /** Time when it reached the link's end; NaN if it never did. */
  arrived: number;
}

/**
 * Index of hops by packet. The recording has them by time; the constructor regroups them once, by a counting sort.
 */
export class Journeys {
  private readonly first: Uint32Array;
  private readonly hop: Uint32Array;
  /** Packets in the order in which they arrived at their host, or passed the place of a capture. */
  readonly arrivals: Uint32Array;
  /** Longest time that a packet was in transit, in nanoseconds. */
  readonly longest: number;

  constructor(private readonly recording: Recording) {
    const { packets, hops } = recording;
    const { gone, fate, time, count } = packets;
    const first = new Uint32Array(count + 1);
    for (let hop = 0; hop < hops.packet.length; hop++) first[hops.packet[hop]! + 1]!++;
    for (let packet = 0; packet < count; packet++) first[packet + 1]! += first[packet]!;
    const next = first.slice(0, count);
    this.hop = new Uint32Array(hops.packet.length);
    const arrivals = new Uint32Array(count);
    let arrived = 0;
    for (let hop = 0; hop < hops.packet.length; hop++) {
      const packet = hops.packet[hop]!;
      this.hop[next[packet]!++] = hop;
      if (fate[packet] === Fate.arrived && next[packet] === first[packet + 1]) arrivals[arrived++] = packet;
    }
    for (let packet = 0; packet < count; packet++)
      if (fate[packet] === Fate.passed) arrivals[arrived++] = packet;
    this.first = first;
    this.arrivals = arrivals.subarray(0, arrived);
    let longest = 0;
    for (let packet = 0; packet < count; packet++) {
      const under = gone[packet]! - time[packet]!;
      if (under > longest) longest = under;
    }
    this.longest = longest;
  }

  /** Time at which a packet arrived or was lost; in a capture, at which it passed. */
  met(packet: number): number {
    const { gone, fate, time } = this.recording.packets;
    return fate[packet] === Fate.passed ? time[packet]! : gone[packet]!;
  }

  /** Number of links that a packet crossed. */
  crossed(packet: number): number {
    return this.first[packet + 1]! - this.first[packet]!;
  }

  /** Index of a packet's nth hop among all hops. */
  at(packet: number, nth: number): number {
    return this.hop[this.first[packet]! + nth]!;
  }

  /** Serialisation and propagation time of a packet on a link, in nanoseconds. */
  transit(link: number, size: number): number {
    const { rate_bps, delay_ns } = this.recording.header.links[link]!;
    return (delay_ns ?? 0) + (rate_bps ? (size * 8e9) / rate_bps : 0);
  }

  legs(packet: number): Leg[] {
    const { packets, hops, header } = this.recording;
    const legs: Leg[] = [];
    let came = packets.time[packet]!;
    for (let nth = 0; nth < this.crossed(packet); nth++) {
      const hop = this.at(packet, nth);
      const link = hops.link[hop]!;
      const arrived = hops.time[hop]!;
      const { from, to, rate_bps } = header.links[link]!;
      const transit = rate_bps === null ? Number.NaN : this.transit(link, packets.size[packet]!);
      const wait = Math.max(0, arrived - came - transit);
      legs.push({ link, from, to, came, wait, arrived });
      came = arrived;
    }
    const dropped = header.links[packets.link[packet]!];
    if (dropped) {
      const { from, to } = dropped;
      legs.push({ link: packets.link[packet]!, from, to, came, wait: Number.NaN, arrived: Number.NaN });
    }
    return legs;
  }

  /** Range of packets (last exclusive) that may have been in transit between two times. */
  underWay(lo: number, hi: number): [number, number] {
    const { time } = this.recording.packets;
    return [lowerBound(time, lo - this.longest), lowerBound(time, hi)];
  }
}
