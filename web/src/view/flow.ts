import { Pyramid } from "../drawing/pyramid";
import type { Journeys } from "./journey";
import { Fate, Kind, type Recording } from "./recording";

/** Vertical bars in order of time, each from a `low` to a `high`: segments, or SACK blocks. */
export interface Bars {
  path: number;
  /** Number of the reason of a retransmission; null for new data. */
  reason: number | null;
  packet: Uint32Array;
  time: Float64Array;
  low: Float64Array;
  high: Float64Array;
  pyramid: Pyramid;
}

/** Points in order of time, each of which holds until the next. */
export interface Steps {
  packet: Uint32Array;
  time: Float64Array;
  value: Float64Array;
  pyramid: Pyramid;
}

/** Content of a flow's time-sequence graph, ready to be drawn at any zoom. */
export interface Sequence {
  bars: Bars[];
  drops: Bars;
  sacks: Bars;
  /** Acknowledgements of each path, which may have its own sequence space. */
  acks: Acknowledged[];
}

/** Cumulative acknowledgement and window edge of a path, at the times when the sender, or a capture, learns of them. */
export interface Acknowledged {
  path: number;
  ack: Steps;
  edge: Steps;
}

/** Predicate for packets of a flow and, unless `path` is -1, of one path. */
function chosen(recording: Recording, flow: number, path: number): (packet: number) => boolean {
  const { flow: flows, path: paths } = recording.packets;
  return (packet) => flows[packet] === flow && (path < 0 || paths[packet] === path);
}

function bars(recording: Recording, list: Uint32Array, path: number, reason: number | null): Bars {
  const { time, from, to } = recording.packets;
  const count = list.length;
  const made = { time: new Float64Array(count), low: new Float64Array(count), high: new Float64Array(count) };
  for (let index = 0; index < count; index++) {
    const packet = list[index]!;
    made.time[index] = time[packet]!;
    made.low[index] = from[packet]!;
    made.high[index] = to[packet]!;
  }
  return { path, reason, packet: list, ...made, pyramid: new Pyramid(made.low, made.high) };
}

/** Groups packets by a key below 65536, without those of a negative key, in two passes: one counts, one fills. */
function split(count: number, keyOf: (packet: number) => number): Map<number, Uint32Array> {
  const counts = new Uint32Array(65536);
  for (let packet = 0; packet < count; packet++) {
    const key = keyOf(packet);
    if (key >= 0) counts[key]!++;
  }
  const lists = new Map<number, Uint32Array>();
  const filled = new Uint32Array(65536);
  counts.forEach((many, key) => {
    if (many) lists.set(key, new Uint32Array(many));
  });
  for (let packet = 0; packet < count; packet++) {
    const key = keyOf(packet);
    if (key >= 0) lists.get(key)![filled[key]!++] = packet;
  }
  return lists;
}

const isMet = (fate: number) => fate === Fate.arrived || fate === Fate.passed;
const isLost = (fate: number) => fate >= Fate.dropped && fate !== Fate.passed;

export function sequence(recording: Recording, journeys: Journeys, flow: number, path: number): Sequence {
  const { packets, header } = recording;
  const sender = header.flows[flow]?.sender ?? 0;
  const { kind, reason, from, side, fate, count } = packets;
  const isOf = chosen(recording, flow, path);
  const isData = (packet: number) => side[packet] === sender && isOf(packet) && !Number.isNaN(from[packet]!);
  const lists = split(count, (packet) => {
    if (!isData(packet)) return -1;
    const again = kind[packet]! & Kind.retransmission ? 1 + (reason[packet]! & 127) : 0;
    return packets.path[packet]! * 128 + Math.min(again, 127);
  });
  const isAck = (packet: number) => side[packet] !== sender && isOf(packet) && isMet(fate[packet]!);
  const ackPaths = [...split(count, (packet) => (isAck(packet) ? packets.path[packet]! : -1)).keys()];
  const dropped = split(count, (packet) => (isLost(fate[packet]!) && isData(packet) ? 0 : -1)).get(0);
  return {
    bars: [...lists].map(([key, list]) =>
      bars(recording, list, key >> 7, key & 127 ? (key & 127) - 1 : null),
    ),
    drops: bars(recording, dropped ?? new Uint32Array(0), 0, null),
    sacks: blocks(recording, journeys, isAck),
    acks: ackPaths.map((one) => ({
      path: one,
      ...acknowledged(recording, journeys, (packet) => isAck(packet) && packets.path[packet] === one),
    })),
  };
}

/** Cumulative acknowledgement and window edge at the arrival of each acknowledgement. */
function acknowledged(recording: Recording, journeys: Journeys, isOf: (packet: number) => boolean) {
  const { ack, edge } = recording.packets;
  const packet = journeys.arrivals.filter(isOf);
  const time = new Float64Array(packet.length);
  const left = new Float64Array(packet.length);
  const right = new Float64Array(packet.length);
  let [acked, window] = [Number.NaN, Number.NaN];
  for (let at = 0; at < packet.length; at++) {
    const which = packet[at]!;
    // A late, older acknowledgement takes nothing back.
    if (!(ack[which]! <= acked) && !Number.isNaN(ack[which]!)) acked = ack[which]!;
    if (!Number.isNaN(edge[which]!)) window = edge[which]!;
    time[at] = journeys.met(which);
    left[at] = acked;
    right[at] = window;
  }
  return {
    ack: { packet, time, value: left, pyramid: new Pyramid(left) },
    edge: { packet, time, value: right, pyramid: new Pyramid(right) },
  };
}

/** SACK blocks at the arrival of the acknowledgements that carry them. */
function blocks(recording: Recording, journeys: Journeys, isOf: (packet: number) => boolean): Bars {
  const { sacks } = recording.packets;
  const many = (packet: number) => sacks[packet + 1]! - sacks[packet]!;
  const carriers = recording.sacks.from.length
    ? journeys.arrivals.filter((packet) => many(packet) > 0 && isOf(packet))
    : new Uint32Array(0);
  const count = carriers.reduce((sum, packet) => sum + many(packet), 0);
  const made = { packet: new Uint32Array(count), time: new Float64Array(count) };
  const low = new Float64Array(count);
  const high = new Float64Array(count);
  let at = 0;
  for (const packet of carriers) {
    for (let index = sacks[packet]!; index < sacks[packet + 1]!; index++) {
      made.packet[at] = packet;
      made.time[at] = journeys.met(packet);
      low[at] = recording.sacks.from[index]!;
      high[at++] = recording.sacks.to[index]!;
    }
  }
  return { path: 0, reason: null, ...made, low, high, pyramid: new Pyramid(low, high) };
}

/** A cumulative sum over time: bytes up to each time. */
export interface Sum {
  time: Float64Array;
  value: Float64Array;
}

/** Cumulative bytes on the wire that a flow's sender sent or, if `arrived`, that arrived from it. */
export function bytes(
  recording: Recording,
  journeys: Journeys,
  flow: number,
  path: number,
  arrived: boolean,
): Sum {
  const { packets, header } = recording;
  const { side, size, kind } = packets;
  const sender = header.flows[flow]?.sender ?? 0;
  const isOf = chosen(recording, flow, path);
  const moment = arrived ? packets.gone : packets.time;
  const count = arrived ? journeys.arrivals.length : packets.count;
  const time = new Float64Array(count);
  const value = new Float64Array(count);
  let at = 0;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    const packet = arrived ? journeys.arrivals[index]! : index;
    if (side[packet] !== sender || !(kind[packet]! & Kind.data) || !isOf(packet)) continue;
    sum += size[packet]!;
    time[at] = moment[packet]!;
    value[at++] = sum;
  }
  return { time: time.subarray(0, at), value: value.subarray(0, at) };
}
