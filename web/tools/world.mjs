// A network of links with queues, which records its packets.
import { Column } from "./recording.mjs";

const NONE = 4294967295;
export const REASONS = ["new data", "fast retransmission", "retransmission timeout", "acknowledgement"];
export const MEASURES = [
  ["cwnd", "Congestion window", "B"],
  ["ssthresh", "Slow-start threshold", "B"],
  ["flight", "Bytes in flight", "B"],
  ["rtt", "Round-trip time", "s"],
  ["srtt", "Smoothed round-trip time", "s"],
  ["delivered", "Delivered", "B"],
  ["queue", "Queue", "B"],
  ["state", "State", ""],
  ["buffer", "Buffered video", "s"],
].map(([name, title, unit]) => ({ name, title, unit }));

/** Generator of pseudo-random numbers from 0 to 1, reproducible by seed. */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

/** Queue of events in order of time: a binary heap. */
class Agenda {
  heap = [];

  add(time, act) {
    const { heap } = this;
    let at = heap.push({ time, act }) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (heap[up].time <= heap[at].time) break;
      [heap[up], heap[at]] = [heap[at], heap[up]];
      at = up;
    }
  }

  next() {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      let down = 2 * at + 1;
      if (down >= heap.length) break;
      if (down + 1 < heap.length && heap[down + 1].time < heap[down].time) down++;
      if (heap[at].time <= heap[down].time) break;
      [heap[at], heap[down]] = [heap[down], heap[at]];
      at = down;
    }
    return first;
  }
}

export class World {
  agenda = new Agenda();
  packets = {};
  sacks = { from: new Column(Float64Array), to: new Column(Float64Array) };
  hops = { packet: new Column(Uint32Array), link: new Column(Uint32Array), time: new Column(Float64Array) };
  series = [];
  text = new Column(Uint8Array);
  now = 0;

  constructor(links, words, dice) {
    this.dice = dice;
    this.links = links.map((link) => ({ ...link, free: 0 }));
    this.words = words;
    const types = {
      time: Float64Array,
      flow: Uint32Array,
      side: Uint8Array,
      path: Uint8Array,
      size: Uint32Array,
    };
    Object.assign(types, { kind: Uint8Array, reason: Uint8Array, from: Float64Array, to: Float64Array });
    Object.assign(types, { ack: Float64Array, edge: Float64Array, sacks: Uint32Array, gone: Float64Array });
    Object.assign(types, { fate: Uint8Array, link: Uint32Array, text: Uint32Array });
    for (const [name, type] of Object.entries(types)) this.packets[name] = new Column(type);
    for (const [link, { limit }] of this.links.entries())
      if (limit) this.links[link].log = this.log("queue", { link });
  }

  log(measure, of) {
    const one = { measure: MEASURES.findIndex(({ name }) => name === measure), ...of };
    one.time = new Column(Float64Array);
    one.value = new Column(Float64Array);
    this.series.push(one);
    return (value) => {
      one.time.push(this.now);
      one.value.push(value);
    };
  }

  send(packet, way, arrive) {
    const { packets } = this;
    const number = packets.time.length;
    const given = { time: this.now, from: Number.NaN, to: Number.NaN, ack: Number.NaN, edge: Number.NaN };
    Object.assign(given, { gone: Number.NaN, fate: 0, link: NONE, flow: 0, ...packet });
    given.sacks = this.sacks.from.length;
    for (const [from, to] of packet.blocks ?? []) {
      this.sacks.from.push(from);
      this.sacks.to.push(to);
    }
    given.text = this.text.length;
    if (this.words)
      for (const byte of new TextEncoder().encode(inWords(given, packet.blocks))) this.text.push(byte);
    for (const [name, column] of Object.entries(packets)) column.push(given[name]);
    this.cross(number, way, 0, packet.size, arrive);
  }

  cross(number, way, nth, size, arrive) {
    const link = this.links[way[nth]];
    const { now } = this;
    const waiting = (Math.max(0, link.free - now) * link.rate_bps) / 8e9;
    if (link.limit && waiting + size > link.limit) {
      this.packets.gone.array[number] = now;
      this.packets.fate.array[number] = 2;
      this.packets.link.array[number] = way[nth];
      return;
    }
    link.free = Math.max(link.free, now) + (size * 8e9) / link.rate_bps;
    link.log?.(waiting + size);
    if (link.loss && this.dice() < link.loss) {
      this.packets.gone.array[number] = link.free + link.delay_ns / 2;
      this.packets.fate.array[number] = 3;
      this.packets.link.array[number] = way[nth];
      return;
    }
    const queued = link.free;
    if (link.log)
      this.agenda.add(queued, () => link.log(Math.max(0, ((link.free - queued) * link.rate_bps) / 8e9)));
    this.agenda.add(link.free + link.delay_ns, () => {
      this.hops.packet.push(number);
      this.hops.link.push(way[nth]);
      this.hops.time.push(this.now);
      if (nth + 1 < way.length) return this.cross(number, way, nth + 1, size, arrive);
      this.packets.gone.array[number] = this.now;
      this.packets.fate.array[number] = 1;
      return arrive();
    });
  }

  run(end) {
    while (this.agenda.heap.length && this.agenda.heap[0].time <= end) {
      const { time, act } = this.agenda.next();
      this.now = time;
      act();
    }
    this.now = end;
  }
}

function inWords({ side, kind, from, to, ack, reason }, blocks = []) {
  const sacks = blocks.length ? `, SACK ${blocks.map((block) => block.join("–")).join(", ")}` : "";
  if (kind & 1) return `TCP ${side ? "server" : "client"}: data ${from}–${to}, ${REASONS[reason]}`;
  return `TCP ${side ? "server" : "client"}: ACK ${ack}${sacks} <b>not markup</b>`;
}
