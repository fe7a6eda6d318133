import type { Flow, Header, Link, Measure, NetworkNode, Observed } from "../contract";

/** Reads a recording (docs/recording.md). Its columns are views of the file: nothing is copied. */

export type { Flow, Header, Link, NetworkNode, Observed };

export const Kind = {
  data: 1,
  ack: 2,
  opens: 4,
  closes: 8,
  resets: 16,
  probes: 32,
  retransmission: 64,
} as const;
export const Fate = { underWay: 0, arrived: 1, dropped: 2, lost: 3, corrupted: 4, passed: 5 } as const;
export const NO_LINK = 4294967295;

/** Kind of a stream: of bytes, of messages, or a response of a page or a video. */
export const StreamKind = { bytes: 0, messages: 1, response: 2 } as const;

export interface Packets {
  count: number;
  time: Float64Array;
  flow: Uint32Array;
  side: Uint8Array;
  path: Uint8Array;
  size: Uint32Array;
  kind: Uint8Array;
  reason: Uint8Array;
  from: Float64Array;
  to: Float64Array;
  ack: Float64Array;
  edge: Float64Array;
  sacks: Uint32Array;
  gone: Float64Array;
  fate: Uint8Array;
  link: Uint32Array;
  text: Uint32Array;
  /** Frame numbers in captures at the sender's and the receiver's interface, 0 for none; empty in earlier versions. */
  sent: Uint32Array;
  sentAt: Uint32Array;
  arrived: Uint32Array;
  arrivedAt: Uint32Array;
}

/** Streams at their receivers; the points of stream `n` are those from `points[n]` to `points[n + 1]` (exclusive). */
export interface Streams {
  count: number;
  flow: Uint32Array;
  visit: Uint32Array;
  number: Float64Array;
  kind: Uint8Array;
  asked: Float64Array;
  size: Float64Array;
  points: Uint32Array;
  time: Float64Array;
  read: Float64Array;
  waiting: Float64Array;
}

export interface Series {
  measure: Measure;
  flow: number | null;
  path: number | null;
  link: number | null;
  time: Float64Array;
  value: Float64Array;
}

export interface Recording {
  header: Header;
  packets: Packets;
  sacks: { from: Float64Array; to: Float64Array };
  hops: { packet: Uint32Array; link: Uint32Array; time: Float64Array };
  series: Series[];
  streams: Streams;
  text: Uint8Array;
}

const MAGIC = "vazaorec";
const VERSION = 1;

type Column = Float64Array | Uint32Array | Uint16Array | Uint8Array;

function column(buffer: ArrayBuffer, type: string, at: number, count: number): Column {
  switch (type) {
    case "f64":
      return new Float64Array(buffer, at, count);
    case "u32":
      return new Uint32Array(buffer, at, count);
    case "u16":
      return new Uint16Array(buffer, at, count);
    case "u8":
      return new Uint8Array(buffer, at, count);
    default:
      throw new Error(`This recording has a section of an unknown type, ${type}.`);
  }
}

/** Reads the header of a file; throws an error with a readable message if it is no recording. */
function headerOf(buffer: ArrayBuffer): Header {
  const magic = String.fromCharCode(...new Uint8Array(buffer, 0, Math.min(8, buffer.byteLength)));
  if (magic !== MAGIC || buffer.byteLength < 16)
    throw new Error("This is no recording: it does not begin with vazaorec.");
  const data = new DataView(buffer);
  const version = data.getUint32(8, true);
  if (version !== VERSION)
    throw new Error(`This recording has version ${version}; this viewer reads version ${VERSION}.`);
  const length = data.getUint32(12, true);
  if (16 + length > buffer.byteLength) throw new Error("This recording ends within its header.");
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 16, length))) as Header;
  // Recordings of earlier versions do not place nodes: they stand in a row.
  const names = new Set(header.links.flatMap(({ from, to }) => [String(from), String(to)]));
  header.nodes ??= [...names].map((name, x) => ({ name, kind: "host", x, y: 0 }));
  return header;
}

export function read(buffer: ArrayBuffer): Recording {
  const header = headerOf(buffer);
  const take = <T extends Column>(name: string, type: string, length?: number): T => {
    const section = header.sections[name];
    const count = section?.count ?? 0;
    if (section && section.type !== type) throw new Error(`Section ${name} is ${section.type}, not ${type}.`);
    if (length !== undefined && count !== length)
      throw new Error(`Section ${name} has ${count} elements, not ${length}.`);
    try {
      return column(buffer, type, section?.at ?? 0, count) as T;
    } catch {
      throw new Error(`Section ${name} does not lie within the file: it was cut short.`);
    }
  };
  const f64 = (name: string, length?: number) => take<Float64Array>(name, "f64", length);
  const u32 = (name: string, length?: number) => take<Uint32Array>(name, "u32", length);
  const u8 = (name: string, length?: number) => take<Uint8Array>(name, "u8", length);
  // Recordings of earlier versions lack sections that were added later.
  const added = (name: string, length: number) => (header.sections[name] ? length : undefined);

  const time = f64("packet.time");
  const count = time.length;
  // Without packets, the columns that have one element more may be absent altogether.
  const more = count > 0 ? count + 1 : undefined;
  const packets: Packets = {
    count,
    time,
    flow: u32("packet.flow", count),
    side: u8("packet.side", count),
    path: u8("packet.path", count),
    size: u32("packet.size", count),
    kind: u8("packet.kind", count),
    reason: u8("packet.reason", count),
    from: f64("packet.from", count),
    to: f64("packet.to", count),
    ack: f64("packet.ack", count),
    edge: f64("packet.edge", count),
    sacks: u32("packet.sacks", more),
    gone: f64("packet.gone", count),
    fate: u8("packet.fate", count),
    link: u32("packet.link", count),
    text: u32("packet.text", more),
    sent: u32("packet.sent", added("packet.sent", count)),
    sentAt: u32("packet.sent_at", added("packet.sent_at", count)),
    arrived: u32("packet.arrived", added("packet.arrived", count)),
    arrivedAt: u32("packet.arrived_at", added("packet.arrived_at", count)),
  };
  const from = f64("sack.from");
  const hop = f64("hop.time");
  const seriesTime = f64("series.time");
  const seriesValue = f64("series.value", seriesTime.length);
  return {
    header,
    packets,
    sacks: { from, to: f64("sack.to", from.length) },
    hops: { packet: u32("hop.packet", hop.length), link: u32("hop.link", hop.length), time: hop },
    series: header.series.map((entry) => ({
      measure: measureOf(header, entry.measure),
      flow: entry.flow ?? null,
      path: entry.path ?? null,
      link: entry.link ?? null,
      time: seriesTime.subarray(entry.start, entry.start + entry.count),
      value: seriesValue.subarray(entry.start, entry.start + entry.count),
    })),
    streams: streamsOf(f64, u32, u8),
    text: u8("text"),
  };
}

type Take<T> = (name: string, length?: number) => T;

function streamsOf(f64: Take<Float64Array>, u32: Take<Uint32Array>, u8: Take<Uint8Array>): Streams {
  const flow = u32("stream.flow");
  const count = flow.length;
  const time = f64("point.time");
  return {
    count,
    flow,
    visit: u32("stream.visit", count),
    number: f64("stream.number", count),
    kind: u8("stream.kind", count),
    asked: f64("stream.asked", count),
    size: f64("stream.size", count),
    points: u32("stream.points", count > 0 ? count + 1 : undefined),
    time,
    read: f64("point.read", time.length),
    waiting: f64("point.waiting", time.length),
  };
}

function measureOf(header: Header, key: number | string): Measure {
  const found =
    typeof key === "number" ? header.measures[key] : header.measures.find(({ name }) => name === key);
  return found ?? { name: String(key), title: String(key), unit: "" };
}

/** Decodes a packet's header in words. */
export function words(recording: Recording, packet: number): string {
  const { text } = recording.packets;
  return new TextDecoder().decode(recording.text.subarray(text[packet], text[packet + 1]));
}
