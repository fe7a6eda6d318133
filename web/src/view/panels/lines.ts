import { before, slopes, stairs, type View } from "../../drawing/lod";
import type { Key, Panel } from "../../drawing/panel";
import { crosses, type Pen } from "../../drawing/pen";
import { upperBound } from "../../drawing/search";
import { quantity } from "../../format";
import { dash, type Model, overlaid, runColour, runWidth } from "../model";
import type { Series } from "../recording";
import { between, held, type Run } from "../run";

/** A series as a line: colours distinguish measures, or overlaid runs; dashes distinguish paths. */
export interface Line {
  run: Run;
  series: Series;
  label: string;
  colour: string;
  dash: number[];
  width: number;
}

export interface LinesAbout {
  id: string;
  title: string;
  about: string;
  measures: string[];
  height?: number;
  /** Measure that may leave the picture above `times` the greatest value of the others. */
  leaves?: { measure: string; times: number };
  /** Whether it is known of packets that were kept only, as in captures. */
  ofPackets?: boolean;
}

/** Time series of one unit, as steps or slopes. */
export class LinesPanel implements Panel {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly height: number;
  readonly ofPackets: boolean;

  constructor(
    protected readonly model: Model,
    protected readonly given: LinesAbout,
  ) {
    this.id = given.id;
    this.title = given.title;
    this.about = given.about;
    this.height = given.height ?? 190;
    this.ofPackets = given.ofPackets ?? false;
  }

  get unit(): string {
    return this.lines()[0]?.series.measure.unit ?? "";
  }

  /** Whether there is anything to draw, of any flow. */
  get present(): boolean {
    return this.given.measures.some((name) =>
      this.model.runs.some((run) => run.series(name, null).length > 0),
    );
  }

  lines(): Line[] {
    const { model } = this;
    const over = overlaid(model);
    return model.runs.flatMap((run, nth) =>
      this.given.measures.flatMap((measure, order) =>
        this.seriesOf(run, measure).map((series, line): Line => {
          const name = over ? `${run.name}: ${this.labelOf(series, run)}` : this.labelOf(series, run);
          const colours = model.theme.lines;
          const colour = over ? runColour(model, nth) : colours[this.colourOf(order, line) % colours.length]!;
          return {
            run,
            series,
            label: name,
            colour,
            dash: dash(over ? order + line : this.dashOf(line)),
            width: runWidth(model, nth),
          };
        }),
      ),
    );
  }

  keys(): Key[] {
    return this.lines().map(({ run, series, label, colour, dash: dashes }) => ({
      label,
      colour,
      dash: dashes,
      at: (moment) => {
        if (this.given.ofPackets && moment > run.known) return "–";
        const value = series.measure.line ? between : held;
        return quantity(value(series.time, series.value, moment), series.measure.unit);
      },
    }));
  }

  fit(lo: number, hi: number): [number, number] | null {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    const { leaves } = this.given;
    const isLeaving = ({ series }: Line) => Number(series.measure.name === leaves?.measure);
    for (const line of this.lines().sort((one, other) => isLeaving(one) - isLeaving(other))) {
      const { run, series } = line;
      const pyramid = run.pyramid(series);
      const { time } = series;
      const end = upperBound(time, hi);
      // A slope that crosses the picture's edge needs the next point outside of it.
      const more = series.measure.line ? 1 : 0;
      if (!pyramid.range(Math.max(0, upperBound(time, lo) - 1), Math.min(time.length, end + more))) continue;
      min = Math.min(min, pyramid.min);
      // A threshold that is not set yet is infinite, and above the picture.
      if (!Number.isFinite(pyramid.max)) continue;
      const bounded =
        leaves && isLeaving(line) && max > 0 ? Math.min(pyramid.max, max * leaves.times) : pyramid.max;
      max = Math.max(max, bounded);
    }
    if (min > max) return null;
    // Zero is included unless all values are far above it.
    return [min < 0.7 * max && min >= 0 ? 0 : min, max];
  }

  paint(pen: Pen, shown: View): void {
    const lines = this.lines();
    // The first measure matters most, and is drawn on top.
    if (!overlaid(this.model)) lines.reverse();
    for (const { run, series, colour, dash: dashes, width } of lines) {
      const drawn = series.measure.line ? slopes : stairs;
      // What ends with the packets that were kept does not go on.
      const part = this.given.ofPackets ? before(shown, run.known) : shown;
      if (part) pen.line(colour, width, drawn(series.time, series.value, run.pyramid(series), part), dashes);
    }
  }

  protected seriesOf(run: Run, measure: string): Series[] {
    return run.series(measure, this.model.flow, this.model.path);
  }

  protected labelOf(series: Series, run: Run): string {
    const { title, name } = series.measure;
    const short = title.length > 22 ? name : title.toLowerCase().replace("rtt", "RTT");
    return series.path !== null && run.paths(this.model.flow).length > 1
      ? `${short}, path ${series.path}`
      : short;
  }

  /** Index of the line's colour: that of its measure. */
  protected colourOf(order: number, _line: number): number {
    return order;
  }

  protected dashOf(line: number): number {
    return line;
  }
}

/** Queues of the links, with their drops. */
export class QueuesPanel extends LinesPanel {
  /** Lines cover the whole run, but drops come from packets. */
  override readonly ofPackets = true;

  override fit(lo: number, hi: number): [number, number] | null {
    const fitted = super.fit(lo, hi);
    return fitted && [0, Math.max(fitted[1], 1)];
  }

  override keys(): Key[] {
    const keys = super.keys();
    if (this.model.runs.some((run) => run.dropTimes().size > 0)) {
      keys.push({ label: "drop", colour: this.model.theme.drop, shape: "cross" });
    }
    return keys;
  }

  override paint(pen: Pen, shown: View): void {
    super.paint(pen, shown);
    for (const { run, series, colour } of this.lines()) {
      const times = run.dropTimes().get(series.link ?? -1);
      if (!times) continue;
      const points: number[] = [];
      const end = upperBound(times, shown.hi);
      const step = (shown.hi - shown.lo) / shown.box.width;
      for (let at = upperBound(times, shown.lo), last = Number.NEGATIVE_INFINITY; at < end; at++) {
        if (times[at]! - last < 2 * step) continue;
        last = times[at]!;
        points.push(shown.x(last), shown.y(held(series.time, series.value, last)));
      }
      pen.segments(overlaid(this.model) ? colour : this.model.theme.drop, 1.5, crosses(points, 3));
    }
  }

  protected override seriesOf(run: Run, measure: string): Series[] {
    return run.series(measure, null);
  }

  protected override labelOf(series: Series, run: Run): string {
    const link = series.link === null ? undefined : run.recording.header.links[series.link];
    return link ? `${link.from} → ${link.to}` : series.measure.title;
  }

  protected override colourOf(_order: number, line: number): number {
    return line;
  }

  protected override dashOf(line: number): number {
    return line >= this.model.theme.lines.length ? 1 : 0;
  }
}
