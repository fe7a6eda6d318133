import { before, drawBars, marks, stairs, type View } from "../../drawing/lod";
import type { Key, Panel } from "../../drawing/panel";
import { crosses, type Pen } from "../../drawing/pen";
import { lowerBound, upperBound } from "../../drawing/search";
import { integer } from "../../format";
import type { Bars, Sequence, Steps } from "../flow";
import { dash, type Model, overlaid, runColour, runWidth } from "../model";
import { held } from "../run";

/** Distance in pixels within which a click selects the nearest mark. */
const REACH = 14;

/** Maximum number of marks near a click that are searched. */
const MOST = 20_000;

/** Time-sequence graph in the style of tcptrace. */
export class SequencePanel implements Panel {
  readonly id = "sequence";
  readonly title = "Time-sequence graph";
  readonly about =
    "segments of the data's sender as bars, with acknowledged edge, window's edge, SACK blocks and drops";
  readonly height = 380;
  readonly ofPackets = true;

  constructor(private readonly model: Model) {}

  get unit(): string {
    return this.model.runs[0]!.recording.header.flows[this.model.flow]?.sequence ?? "";
  }

  keys(): Key[] {
    const { theme, runs, path } = this.model;
    const keys: Key[] = [];
    if (overlaid(this.model)) {
      runs.forEach((run, index) => {
        keys.push({ label: run.name, colour: runColour(this.model, index), shape: "bar" });
      });
    } else {
      const paths = path < 0 ? runs[0]!.paths(this.model.flow) : [path];
      for (const one of paths) {
        const label = paths.length > 1 ? `path ${one}` : "new data";
        keys.push({ label, colour: theme.data[one % theme.data.length]!, shape: "bar" });
      }
    }
    const seen = new Set<number>();
    for (const { bars } of this.sequences())
      for (const { reason } of bars) if (reason !== null) seen.add(reason);
    for (const reason of [...seen].sort()) {
      const label = runs[0]!.recording.header.reasons[reason] ?? "retransmission";
      keys.push({ label, colour: this.again(reason), shape: "bar" });
    }
    const value = (of: "ack" | "edge") => (moment: number) => {
      const isKnown = moment <= this.model.runs[0]!.known;
      const values = this.sequences()[0]!.acks.map((one) =>
        integer(isKnown ? held(one[of].time, one[of].value, moment) : Number.NaN),
      );
      return values.join(", ") || "–";
    };
    const over = overlaid(this.model);
    keys.push({
      label: "acknowledged",
      colour: over ? theme.soft : theme.ack,
      dash: over ? [2, 2] : [],
      at: value("ack"),
    });
    keys.push({ label: "window’s edge", colour: theme.window, dash: [4, 3], at: value("edge") });
    if (this.sequences().some(({ sacks }) => sacks.time.length)) {
      keys.push({ label: "SACK", colour: theme.sack, shape: "bar" });
    }
    if (this.sequences().some(({ drops }) => drops.time.length)) {
      keys.push({ label: runs[0]!.observed ? "lost" : "dropped", colour: theme.drop, shape: "cross" });
    }
    return keys;
  }

  fit(lo: number, hi: number): [number, number] | null {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    let edge = Number.NEGATIVE_INFINITY;
    for (const { bars, acks } of this.sequences()) {
      for (const { time, pyramid } of bars) {
        if (!pyramid.range(lowerBound(time, lo), upperBound(time, hi))) continue;
        min = Math.min(min, pyramid.min);
        max = Math.max(max, pyramid.max);
      }
      for (const { ack, edge: edges } of acks) {
        const first = Math.max(0, upperBound(ack.time, lo) - 1);
        const end = upperBound(ack.time, hi);
        if (ack.pyramid.range(first, end)) {
          min = Math.min(min, ack.pyramid.min);
          max = Math.max(max, ack.pyramid.max);
        }
        if (edges.pyramid.range(first, end)) edge = Math.max(edge, edges.pyramid.max);
      }
    }
    if (min > max) return null;
    // A window that is far from full would flatten the data into a line; then its edge lies above the picture.
    return [min, edge > max && edge - max < 0.5 * (max - min) ? edge : max];
  }

  paint(pen: Pen, all: View): void {
    const { theme } = this.model;
    const over = overlaid(this.model);
    this.sequences().forEach((sequence, run) => {
      // Beyond the kept packets, a line that went on would look like a stall.
      const shown = before(all, this.model.runs[run]!.known);
      if (!shown) return;
      const colour = runColour(this.model, run);
      const extra = runWidth(this.model, run) - 1.25;
      for (const { edge } of sequence.acks)
        this.steps(pen, edge, shown, over ? colour : theme.window, [4, 3]);
      drawBars(pen, theme.sack, sequence.sacks, shown);
      for (const { ack, path } of sequence.acks) {
        this.steps(pen, ack, shown, over ? colour : theme.ack, over ? [2, 2] : dash(path));
      }
      for (const bars of sequence.bars) {
        if (bars.reason === null)
          drawBars(pen, over ? colour : theme.data[bars.path % theme.data.length]!, bars, shown, 1 + extra);
      }
      // Retransmissions are few and matter most: they are drawn on top, at least two pixels wide.
      for (const bars of sequence.bars)
        if (bars.reason !== null) drawBars(pen, this.again(bars.reason), bars, shown, 2 + extra);
      const { time, high } = sequence.drops;
      pen.segments(theme.drop, 1.5, crosses(marks(time, high, shown), 3.5));
    });
    this.markSelected(pen, all);
  }

  click(shown: View, x: number, y: number): void {
    const at = { x: x + shown.box.left, y: y + shown.box.top };
    let best = REACH;
    let found: { run: number; packet: number } | null = null;
    const consider = (run: number, packet: number, distance: number) => {
      if (distance >= best) return;
      best = distance;
      found = { run, packet };
    };
    const span = (REACH / shown.box.width) * (shown.hi - shown.lo);
    const moment = shown.lo + (x / shown.box.width) * (shown.hi - shown.lo);
    const near = (time: Float64Array): [number, number] => {
      const first = lowerBound(time, moment - span);
      return [first, Math.min(upperBound(time, moment + span), first + MOST)];
    };
    this.sequences().forEach((sequence, run) => {
      for (const bars of sequence.bars) {
        const [first, end] = near(bars.time);
        for (let index = first; index < end; index++) {
          consider(run, bars.packet[index]!, distanceTo(bars, index, shown, at));
        }
      }
      for (const { ack } of sequence.acks) {
        const { time, value, packet } = ack;
        const [first, end] = near(time);
        for (let index = first; index < end; index++) {
          // Data wins over an acknowledgement at the same place: it is what the graph is about.
          consider(
            run,
            packet[index]!,
            Math.hypot(shown.x(time[index]!) - at.x, shown.y(value[index]!) - at.y) + 1,
          );
        }
      }
    });
    this.model.select(found);
  }

  private sequences(): Sequence[] {
    return this.model.runs.map((run) => run.sequence(this.model.flow, this.model.path));
  }

  private again(reason: number): string {
    const { again } = this.model.theme;
    return again[Math.max(0, reason - 1) % again.length]!;
  }

  private steps(pen: Pen, steps: Steps, shown: View, colour: string, dash: number[]): void {
    pen.line(colour, 1.25, stairs(steps.time, steps.value, steps.pyramid, shown), dash);
  }

  private markSelected(pen: Pen, shown: View): void {
    const { selected, theme, runs } = this.model;
    if (!selected) return;
    const { journeys, recording } = runs[selected.run]!;
    const { packets } = recording;
    const { packet } = selected;
    if (packets.flow[packet] !== this.model.flow) return;
    const data = !Number.isNaN(packets.from[packet]!);
    const x = shown.x(data ? packets.time[packet]! : journeys.met(packet));
    const low = shown.y(data ? packets.from[packet]! : packets.ack[packet]!);
    const high = data ? shown.y(packets.to[packet]!) : low;
    pen.line(theme.ink, 1.5, [
      x - 6,
      low + 5,
      x + 6,
      low + 5,
      x + 6,
      high - 5,
      x - 6,
      high - 5,
      x - 6,
      low + 5,
    ]);
  }
}

function distanceTo(bars: Bars, index: number, shown: View, at: { x: number; y: number }): number {
  const low = shown.y(bars.low[index]!);
  const high = shown.y(bars.high[index]!);
  const off = at.y > low ? at.y - low : at.y < high ? high - at.y : 0;
  return Math.hypot(shown.x(bars.time[index]!) - at.x, off);
}
