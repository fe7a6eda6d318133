import { lowerBound } from "../drawing/search";
import { type Recording, StreamKind } from "./recording";

/** A stream at its receiver, or an object of a page: what was read of it over time, and when data waited. */
export interface Lane {
  name: string;
  /** Time of its request; NaN for a stream without one. */
  asked: number;
  /** Total size in bytes or messages; if unknown, what had been read at the end. */
  size: number;
  whole: boolean;
  time: Float64Array;
  read: Float64Array;
  /** Bytes that have arrived and wait for earlier data. */
  waiting: Float64Array;
  /** Begin and end of each span in which data waited, alternating. */
  spans: Float64Array;
}

/** Streams of a flow, or the objects of its visit, whichever connection they came by. */
export function lanesOf({ streams, header }: Recording, flow: number, objects: boolean): Lane[] {
  const visits = new Set<number>();
  for (let stream = 0; stream < streams.count; stream++) {
    if (streams.flow[stream] === flow) visits.add(streams.visit[stream]!);
  }
  const lanes: Lane[] = [];
  for (let stream = 0; stream < streams.count; stream++) {
    const isObject = streams.kind[stream] === StreamKind.response;
    const belongs = objects ? visits.has(streams.visit[stream]!) : streams.flow[stream] === flow;
    if (isObject !== objects || !belongs) continue;
    const [from, to] = [streams.points[stream]!, streams.points[stream + 1]!];
    const [time, read] = [streams.time.subarray(from, to), streams.read.subarray(from, to)];
    const waiting = streams.waiting.subarray(from, to);
    const known = streams.size[stream]!;
    const size = Number.isNaN(known) ? (read.at(-1) ?? 0) : known;
    lanes.push({
      name: `${streams.number[stream]}`,
      asked: streams.asked[stream]!,
      size,
      whole: size > 0 && read.at(-1) === size,
      time,
      read,
      waiting,
      spans: spansOf(time, waiting, header.end_ns),
    });
  }
  return lanes;
}

function spansOf(time: Float64Array, waiting: Float64Array, end: number): Float64Array {
  const spans: number[] = [];
  for (let at = 0; at < time.length; at++) {
    if (waiting[at]! > 0 !== (spans.length % 2 === 1)) spans.push(time[at]!);
  }
  if (spans.length % 2) spans.push(end);
  return Float64Array.from(spans);
}

/** Time when the first byte was read; NaN if none was. */
export function firstByte({ time, read }: Lane): number {
  const at = lowerBound(read, 1);
  return at < time.length ? time[at]! : Number.NaN;
}

/** Time when the last byte was read; NaN if some are missing. */
export function lastByte({ time, read, size, whole }: Lane): number {
  return whole ? time[lowerBound(read, size)]! : Number.NaN;
}
