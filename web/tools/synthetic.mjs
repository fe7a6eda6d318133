// Makes synthetic recordings, for tests and for trying the viewer without the engine.
//
//   node tools/synthetic.mjs OUT [--kind tcp|paths] [--seconds 4] [--rate 10] [--seed 1] [--gzip]
//
// The sender is a toy: slow start, one window of losses at the queue, SACKs, retransmissions, Reno's growth after it.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { Column, encode } from "./recording.mjs";
import { MEASURES, REASONS, random, World } from "./world.mjs";

const MSS = 1448;
const OVERHEAD = 52;
const STATES = ["slow start", "congestion avoidance", "recovery", "loss"];

/** Runs a bulk transfer over one path of the world; `extra` segments of window after a loss make a different run. */
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
  // Each acknowledgement of a recovery retransmits what is missing, as far as the window allows.
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
      // Nothing is reordered here: what a SACK block leaves out is lost, and no longer in the network.
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
  // A lenient retransmission timer: without progress, the first missing segment is sent again.
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

/** Makes the forward direction of a link lose some packets on the wire. */
const lossy = ([forth, back]) => [{ ...forth, loss: 0.002 }, back];

/** Both directions of a link, one after the other. */
const both = (from, to, mbit, ms, limit = 0) => [
  link(from, to, mbit, ms, limit),
  { ...link(to, from, mbit, ms), forward: false },
];

/**
 * Makes a recording. `kind`: `tcp` (one path over a router) or `paths` (two); `rate` in Mbit/s; `extra` segments of
 * window after the first loss make a run that differs from then on; `lossless` bounds the window, for long runs.
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
    links: world.links.map(({ free, limit, log, loss, ...described }) => described),
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
