import { Pyramid } from "../drawing/pyramid";
import { upperBound } from "../drawing/search";
import { bytes, type Sequence, type Sum, sequence } from "./flow";
import { Journeys } from "./journey";
import { NO_LINK, type Recording, read, type Series } from "./recording";

/** A recording with data derived from it, each at its first use. */
export class Run {
  readonly recording: Recording;
  readonly journeys: Journeys;
  private readonly kept = new Map<string, unknown>();
  private readonly pyramids = new Map<Series, Pyramid>();

  constructor(
    buffer: ArrayBuffer,
    /** Display name of the run. */
    public name: string,
  ) {
    this.recording = read(buffer);
    this.journeys = new Journeys(this.recording);
  }

  get end(): number {
    const { header, packets } = this.recording;
    return header.end_ns || packets.time[packets.count - 1] || 1;
  }

  /** Whether packets are known as they passed captures. */
  get observed(): boolean {
    return this.recording.header.observed !== undefined;
  }

  /** Whether they are known at one place, that of a capture, and not where they came from and went. */
  get atOnePlace(): boolean {
    return this.recording.header.observed?.captures.length === 1;
  }

  /** Whether the recording has only the first packets of the run. */
  get isCut(): boolean {
    const { kept, all } = this.recording.header.packets;
    return kept < all;
  }

  /** Time up to which the run's packets are known: its end, or when the last kept packet was sent. */
  get known(): number {
    const { time, count } = this.recording.packets;
    return this.isCut ? (time[count - 1] ?? 0) : this.end;
  }

  /** Paths of a flow that have packets or series. */
  paths(flow: number): number[] {
    return this.once(`paths ${flow}`, () => {
      const { packets, series } = this.recording;
      const found = new Set<number>();
      const seen = new Uint8Array(256);
      for (let packet = 0; packet < packets.count; packet++) {
        if (packets.flow[packet] === flow) seen[packets.path[packet]!] = 1;
      }
      seen.forEach((is, path) => {
        if (is) found.add(path);
      });
      for (const one of series) if (one.flow === flow && one.path !== null) found.add(one.path);
      return [...found].sort((a, b) => a - b);
    });
  }

  sequence(flow: number, path: number): Sequence {
    return this.once(`sequence ${flow} ${path}`, () => sequence(this.recording, this.journeys, flow, path));
  }

  bytes(flow: number, path: number, arrived: boolean): Sum {
    return this.once(`bytes ${flow} ${path} ${arrived}`, () =>
      bytes(this.recording, this.journeys, flow, path, arrived),
    );
  }

  /** Series of a measure; of one flow unless `flow` is null, and of one path unless `path` is -1. */
  series(measure: string, flow: number | null, path = -1): Series[] {
    return this.recording.series.filter(
      (one) =>
        one.measure.name === measure &&
        (flow === null || one.flow === flow) &&
        (path < 0 || one.path === null || one.path === path) &&
        one.time.length > 0,
    );
  }

  /** Sorted times of each link's drops; links without drops are absent. */
  dropTimes(): Map<number, Float64Array> {
    return this.once("drops", () => {
      const { packets } = this.recording;
      const found = new Map<number, number[]>();
      for (let packet = 0; packet < packets.count; packet++) {
        if (packets.link[packet] === NO_LINK) continue;
        const link = packets.link[packet]!;
        if (!found.has(link)) found.set(link, []);
        found.get(link)!.push(packets.gone[packet]!);
      }
      return new Map([...found].map(([link, times]) => [link, Float64Array.from(times).sort()]));
    });
  }

  pyramid(series: Series): Pyramid {
    let pyramid = this.pyramids.get(series);
    if (!pyramid) {
      pyramid = new Pyramid(series.value);
      this.pyramids.set(series, pyramid);
    }
    return pyramid;
  }

  /** Returns a value derived from the recording, which is computed once per key. */
  once<T>(key: string, make: () => T): T {
    if (!this.kept.has(key)) this.kept.set(key, make());
    return this.kept.get(key) as T;
  }
}

/** Value that holds at a time; NaN before the first. */
export function held(time: Float64Array, value: Float64Array, moment: number): number {
  const index = upperBound(time, moment) - 1;
  return index < 0 ? Number.NaN : value[index]!;
}

/** Value on the line between the points before and after a time; NaN before the first and after the last. */
export function between(time: Float64Array, value: Float64Array, moment: number): number {
  const after = upperBound(time, moment);
  const [from, to] = [time[after - 1], time[after]];
  if (from === undefined || to === undefined) return from === moment ? value[after - 1]! : Number.NaN;
  const share = (moment - from) / (to - from);
  return value[after - 1]! * (1 - share) + value[after]! * share;
}

export interface Selection {
  run: number;
  packet: number;
}
