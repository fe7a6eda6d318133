// Makes recordings that look like runs, for tests and for looking at the viewer without the engine.
//
//   node tools/synthetic.mjs OUT [--kind tcp|paths] [--seconds 4] [--rate 10] [--seed 1] [--gzip]
//
// The sender is a toy: slow start, one window of losses at the queue, SACKs, retransmissions, Reno's growth after it.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Column, encode } from "./recording.mjs";

const MSS = 1448;
const OVERHEAD = 52;
const NONE = 4294967295;
const REASONS = ["new data", "fast retransmission", "retransmission timeout", "acknowledgement"];
const STATES = ["slow start", "congestion avoidance", "recovery", "loss"];
const MEASURES = [
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

/** Numbers from 0 to 1 that are the same for the same seed. */
function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

/** Events in order of time: a binary heap. */
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

class World {
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

/** A bulk transfer over one path of the world; `extra` segments of window after a loss make a run that differs. */
function transfer(world, { flow = 0, path = 0, there, back, seconds, extra = 0, lossless }) {
  const log = Object.fromEntries(
    ["cwnd", "ssthresh", "flight", "rtt", "srtt", "state"].map((name) => [
      name,
      world.log(name, { flow, path }),
    ]),
  );
  const delivered = path === 0 ? world.log("delivered", { flow, path: null }) : () => {};
  const got = new Set();
  const sentAt = new Map();
  let [next, acked, cwnd, ssthresh, recover, state] = [0, 0, 10, Number.POSITIVE_INFINITY, -1, 0];
  let [edge, srtt, highest] = [0, 0, -1];
  const known = new Set();
  const again = new Set();
  let flight = 0;
  const ackNow = () => {
    while (got.has(edge)) got.delete(edge++);
    const blocks = [];
    const above = got.size > 400 ? [] : [...got].sort((a, b) => a - b);
    for (const segment of above) {
      const last = blocks.at(-1);
      if (last && last[1] === segment * MSS) last[1] += MSS;
      else blocks.push([segment * MSS, (segment + 1) * MSS]);
    }
    const fresh = above.filter((segment) => !known.has(segment));
    const latest = blocks.slice(-3).reverse();
    const ack = edge;
    const size = OVERHEAD + latest.length * 8 + (latest.length ? 4 : 0);
    const about = {
      flow,
      path,
      side: 1,
      kind: 2,
      reason: 3,
      size,
      ack: ack * MSS,
      edge: ack * MSS + 3e5 * (1 + (ack > 200)),
    };
    world.send({ ...about, blocks: latest }, back, () => acknowledged(ack, fresh));
  };
  const put = (segment, reason) => {
    sentAt.set(segment, reason ? Number.NaN : world.now);
    flight++;
    const bytes = { from: segment * MSS, to: (segment + 1) * MSS, size: MSS + OVERHEAD };
    const kind = 1 | 2 | (reason ? 64 : 0);
    world.send({ flow, path, side: 0, kind, reason, ...bytes }, there, () => {
      if (segment >= edge) got.add(segment);
      ackNow();
    });
  };
  const fill = () => {
    while (flight < Math.floor(cwnd)) put(next++, 0);
    log.flight(flight * MSS);
  };
  const change = (to) => {
    if (state !== to) log.state(to);
    state = to;
  };
  // Each acknowledgement of a recovery sends what is missing again, as far as the window has room.
  const repair = () => {
    for (let segment = acked; segment < highest && flight < cwnd; segment++) {
      if (known.has(segment) || again.has(segment)) continue;
      again.add(segment);
      put(segment, state === 3 ? 2 : 1);
    }
  };
  const acknowledged = (ack, sacked) => {
    for (const segment of sacked) {
      if (known.has(segment) || segment < acked) continue;
      known.add(segment);
      flight = Math.max(0, flight - 1);
      // Nothing overtakes here: what a SACK block leaves out is lost, and no longer in the network.
      for (let gap = Math.max(highest + 1, acked); gap < segment; gap++) flight = Math.max(0, flight - 1);
      highest = Math.max(highest, segment);
    }
    const sent = sentAt.get(ack - 1);
    if (ack > acked) {
      for (let segment = acked; segment < ack; segment++) {
        sentAt.delete(segment);
        if (!known.delete(segment)) flight = Math.max(0, flight - 1);
      }
      acked = ack;
      delivered(acked * MSS);
      if (!Number.isNaN(sent) && sent !== undefined) {
        const rtt = (world.now - sent) / 1e9;
        srtt = srtt ? 0.875 * srtt + 0.125 * rtt : rtt;
        log.rtt(rtt);
        log.srtt(srtt);
      }
      if (acked > recover) {
        change(cwnd < ssthresh ? 0 : 1);
        cwnd += cwnd < ssthresh ? 1 : 1 / cwnd;
        if (lossless) cwnd = Math.min(cwnd, lossless);
      }
    } else if (highest >= acked + 3 && acked > recover) {
      recover = next - 1;
      ssthresh = Math.max(2, cwnd / 2 + extra);
      cwnd = ssthresh;
      log.ssthresh(ssthresh * MSS);
      change(2);
      again.clear();
    }
    if (acked <= recover) repair();
    log.cwnd(Math.round(cwnd * MSS));
    fill();
  };
  world.agenda.add(path * 40e6, () => {
    log.state(0);
    log.cwnd(cwnd * MSS);
    fill();
  });
  // A timer that forgives: whatever hangs is sent again.
  let before = -1;
  const timer = () => {
    if (acked === before) {
      recover = next - 1;
      flight = 0;
      again.clear();
      again.add(acked);
      change(3);
      cwnd = 2;
      put(acked, 2);
    }
    before = acked;
    if (world.now < seconds * 1e9) world.agenda.add(world.now + 300e6, timer);
  };
  world.agenda.add(300e6 + path * 40e6, timer);
}

const link = (from, to, mbit, ms, limit = 0) => ({
  ...{ name: `${from}-${to}`, forward: true, from, to, rate_bps: mbit * 1e6, delay_ns: ms * 1e6, limit },
});

/** Some packets of the forward direction are lost on the wire. */
const lossy = ([forth, back]) => [{ ...forth, loss: 0.002 }, back];

/** Both directions of a link, one after the other. */
const both = (from, to, mbit, ms, limit = 0) => [
  link(from, to, mbit, ms, limit),
  { ...link(to, from, mbit, ms), forward: false },
];

/**
 * A recording. `kind`: `tcp` (one path over a router) or `paths` (two); `rate` in Mbit/s; `extra` segments of window after
 * the first loss make a run that differs from then on; `lossless` bounds the window, for long runs.
 */
export function synthetic({
  kind = "tcp",
  seconds = 4,
  rate = 10,
  seed = 1,
  extra = 0,
  lossless = 0,
  words = true,
} = {}) {
  const limit = (rate * 1e6 * 0.06) / 8;
  const two = kind === "paths";
  const links = two
    ? [
        ...[...both("phone", "wifi", rate * 2, 2), ...both("wifi", "server", rate, 12, limit)],
        ...[...lossy(both("phone", "cell", rate, 18, limit)), ...both("cell", "server", rate * 2, 9)],
      ]
    : [...both("client", "router", rate * 10, 1), ...both("router", "server", rate, 20, limit)];
  const dice = random(seed);
  const world = new World(links, words, dice);
  transfer(world, { there: [0, 2], back: [3, 1], seconds, extra, lossless });
  if (two) transfer(world, { path: 1, there: [4, 6], back: [7, 5], seconds, extra, lossless });
  if (two) {
    const buffer = world.log("buffer", { flow: 0, path: null });
    for (let at = 0; at < seconds * 4; at++)
      world.agenda.add(at * 250e6, () => buffer(Math.min(at / 4, 3) + dice() * 0.2));
  }
  world.run(seconds * 1e9);
  return finish(world, { kind, seconds, two, seed });
}

function finish(world, { kind, seconds, two, seed }) {
  const columns = {};
  for (const [name, column] of Object.entries(world.packets)) columns[`packet.${name}`] = column;
  world.packets.sacks.push(world.sacks.from.length);
  world.packets.text.push(world.text.length);
  for (const [name, column] of Object.entries(world.sacks)) columns[`sack.${name}`] = column;
  for (const [name, column] of Object.entries(world.hops)) columns[`hop.${name}`] = column;
  columns.text = world.text;
  columns["series.time"] = new Column(Float64Array);
  columns["series.value"] = new Column(Float64Array);
  const series = world.series.map(({ time, value, ...of }) => {
    const start = columns["series.time"].length;
    for (let at = 0; at < time.length; at++) {
      columns["series.time"].push(time.array[at]);
      columns["series.value"].push(value.array[at]);
    }
    return { ...of, start, count: time.length };
  });
  const kept = world.packets.time.length;
  const flow = {
    client: two ? "phone" : "client",
    server: "server",
    transport: two ? "MPTCP" : "TCP",
    cc: "Reno",
  };
  const header = {
    ...{
      run_id: `5e9d${seed.toString(16).padStart(12, "0")}`,
      name: kind === "tcp" ? "One loss" : "Two paths",
    },
    ...{ engine: "synthetic", end_ns: seconds * 1e9, packets: { kept, all: kept } },
    flows: [{ ...flow, app: "upload", sender: 0, start_ns: 0, mss: MSS, paths: two ? 2 : 1 }],
    links: world.links.map(({ free, limit, log, loss, ...told }) => told),
    ...{ measures: MEASURES, series, states: STATES, reasons: REASONS },
  };
  return encode(
    header,
    Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column.done()])),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, ...rest] = process.argv.slice(2);
  const options = {};
  for (let at = 0; at < rest.length; at++) {
    const name = rest[at].replace(/^--/, "");
    if (name === "gzip" || name === "quiet") options[name] = true;
    else {
      const value = rest[++at];
      options[name] = Number.isNaN(Number(value)) ? value : Number(value);
    }
  }
  const file = synthetic({ ...options, words: !options.quiet });
  writeFileSync(out, options.gzip ? gzipSync(file) : file);
}
