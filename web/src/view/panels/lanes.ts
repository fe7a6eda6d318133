import type { View } from "../../drawing/lod";
import type { Key, Panel } from "../../drawing/panel";
import type { Pen } from "../../drawing/pen";
import { upperBound } from "../../drawing/search";
import { duration, quantity } from "../../format";
import { firstByte, type Lane, lanesOf, lastByte } from "../lanes";
import { type Model, overlaid, runColour } from "../model";
import { StreamKind } from "../recording";
import { held, type Run } from "../run";

/** Height of a lane in pixels while there are few; many share the panel's height. */
const ROOM = 15;
const TALLEST = 460;

/** Height in pixels below which a lane shows that it was read, not how fast. */
const LOW = 9;

/**
 * A lane for each object of a page, as a waterfall, or for each stream: from the request to the last byte, the progress
 * of reading, and the spans in which data had arrived but waited for earlier data.
 */
export class LanesPanel implements Panel {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly unit = "";
  /** Reading is known only as far as packets are. */
  readonly ofPackets = true;

  constructor(
    private readonly model: Model,
    private readonly objects: boolean,
  ) {
    this.id = objects ? "objects" : "streams";
    this.title = objects ? "Objects" : "Streams";
    this.about = objects
      ? "when each object was asked for and read, and when its data waited for earlier data"
      : "what was read of each stream, and when its data waited for earlier data";
  }

  /** Whether there is anything to see: objects, several streams, or one whose data waited. */
  get present(): boolean {
    return this.model.runs.some((run) =>
      run.recording.header.flows.some((_, flow) => {
        const lanes = this.lanesOf(run, flow);
        return this.objects
          ? lanes.length > 0
          : lanes.length > 1 || lanes.some(({ spans }) => spans.length > 0);
      }),
    );
  }

  get height(): number {
    const most = Math.max(
      ...this.model.runs.flatMap((run) =>
        run.recording.header.flows.map((_, flow) => this.lanesOf(run, flow).length),
      ),
    );
    return Math.min(TALLEST, Math.max(96, 48 + ROOM * most));
  }

  rows = (): string[] => {
    const [longest] = this.model.runs
      .map((run) => this.lanes(run))
      .sort((one, other) => other.length - one.length);
    return longest?.length ? longest.map(({ name }) => name) : ["–"];
  };

  keys(): Key[] {
    const { theme, runs } = this.model;
    const lanes = runs.map((run) => this.lanes(run));
    const read = (nth: number) => (moment: number) => {
      const done = lanes[nth]!.filter((lane) => lastByte(lane) <= moment).length;
      if (this.objects) return `${done} of ${lanes[nth]!.length}`;
      const sum = lanes[nth]!.reduce((all, lane) => all + (held(lane.time, lane.read, moment) || 0), 0);
      return quantity(sum, this.countsMessages() ? "" : "B");
    };
    const waiting = (moment: number) =>
      quantity(
        lanes.flat().reduce((all, lane) => all + (held(lane.time, lane.waiting, moment) || 0), 0),
        "B",
      );
    const keys: Key[] = runs.map(({ name }, nth) => ({
      label: overlaid(this.model) ? `${name}: read` : "read",
      colour: this.colour(nth),
      shape: "bar",
      at: read(nth),
    }));
    if (this.objects) keys.unshift({ label: "asked for", colour: theme.soft });
    keys.push({
      label: "come, waiting for earlier data",
      colour: theme.again[1]!,
      shape: "bar",
      at: waiting,
    });
    return keys;
  }

  fit(): [number, number] {
    return [0.5 - this.rows().length, 0.5];
  }

  paint(pen: Pen, shown: View): void {
    const { runs } = this.model;
    const row = Math.abs(shown.y(0) - shown.y(1));
    const height = Math.max(1, (row * 0.76) / runs.length);
    runs.forEach((run, nth) => {
      this.lanes(run).forEach((lane, number) => {
        const top = shown.y(-number) - row * 0.38 + nth * height;
        if (top + height < shown.box.top || top > shown.box.top + shown.box.height) return;
        this.lane(pen, lane, shown, { top, height: Math.max(1, height - (runs.length > 1 ? 1 : 0)), nth });
      });
    });
  }

  private lane(
    pen: Pen,
    lane: Lane,
    shown: View,
    { top, height, nth }: { top: number; height: number; nth: number },
  ): void {
    const { theme } = this.model;
    const [first, last] = [firstByte(lane), lastByte(lane)];
    const [left, right] = [shown.box.left, shown.box.left + shown.box.width];
    const x = (time: number, otherwise: number) =>
      Math.min(right, Math.max(left, Number.isNaN(time) ? otherwise : shown.x(time)));
    const [begin, end] = [x(first, right), x(last, right)];
    if (!Number.isNaN(lane.asked)) {
      const middle = top + height / 2;
      const asked = x(lane.asked, left);
      pen.segments(theme.soft, 1.25, [asked, middle, begin, middle], 0.9);
      if (shown.x(lane.asked) >= left) pen.segments(theme.soft, 1.25, [asked, top, asked, top + height], 0.9);
    }
    const colour = this.colour(nth);
    pen.rects(colour, [begin, top, Math.max(end - begin, begin < right ? 1 : 0), height], 0.25);
    if (height >= LOW) pen.rects(colour, this.progress(lane, shown, top, height));
    else pen.rects(colour, [begin, top, end - begin, height], 0.65);
    // The bar of waiting data hides no more than half of the read data.
    const strip = height >= LOW ? height * 0.5 : height;
    pen.rects(theme.again[1]!, waits(lane.spans, shown, top, strip), height >= LOW ? 1 : 0.9);
    const text = `${duration(last - lane.asked)}`;
    if (this.objects && height >= LOW && last >= shown.lo && end + text.length * 6 + 8 < right) {
      pen.text(theme.soft, end + 5, top + height / 2, text, "left", 10);
    }
  }

  /** Boxes of an area that rises with the bytes read, up to the lane's height. */
  private progress(lane: Lane, shown: View, top: number, height: number): number[] {
    const { time, read, size } = lane;
    const boxes: number[] = [];
    const step = (shown.hi - shown.lo) / shown.box.width;
    const end = upperBound(time, shown.hi);
    let index = Math.max(0, upperBound(time, shown.lo) - 1);
    while (index < end && size > 0) {
      // The last of several points within one pixel counts.
      const next = Math.max(index + 1, upperBound(time, time[index]! + step, index, end));
      const level = (read[next - 1]! / size) * height;
      const from = shown.x(Math.max(time[index]!, shown.lo));
      const to = next < time.length ? shown.x(Math.min(time[next]!, shown.hi)) : from;
      // Boxes that overlap a little leave no seams.
      boxes.push(from, top + height - level, Math.max(to - from, 0) + 0.6, level);
      index = next;
    }
    return boxes;
  }

  private countsMessages(): boolean {
    return this.model.runs.some(({ recording: { streams } }) =>
      streams.kind.some(
        (kind, stream) => kind === StreamKind.messages && streams.flow[stream] === this.model.flow,
      ),
    );
  }

  private colour(nth: number): string {
    return overlaid(this.model) ? runColour(this.model, nth) : this.model.theme.data[0]!;
  }

  private lanes(run: Run): Lane[] {
    return this.lanesOf(run, this.model.flow);
  }

  private lanesOf(run: Run, flow: number): Lane[] {
    return run.once(`${this.id} ${flow}`, () => lanesOf(run.recording, flow, this.objects));
  }
}

/** Boxes of the visible spans; spans less than a pixel apart are merged. */
export function waits(spans: Float64Array, shown: View, top: number, height: number): number[] {
  const boxes: number[] = [];
  const step = (shown.hi - shown.lo) / shown.box.width;
  let at = upperBound(spans, shown.lo);
  at -= at % 2;
  while (at < spans.length && spans[at]! < shown.hi) {
    const left = shown.x(Math.max(spans[at]!, shown.lo));
    let end = spans[at + 1]!;
    for (at += 2; at < spans.length && spans[at]! < end + step; at += 2) end = spans[at + 1]!;
    boxes.push(left, top, Math.max(shown.x(Math.min(end, shown.hi)) - left, 1), height);
  }
  return boxes;
}
