import { stairs, type View } from "../drawing/lod";
import type { Key, Panel } from "../drawing/panel";
import type { Pen } from "../drawing/pen";
import { Pyramid } from "../drawing/pyramid";
import { lowerBound, upperBound } from "../drawing/search";
import { quantity } from "../format";
import type { Model } from "../view/model";
import { LimitsPanel, type Strip, stripsOf } from "../view/panels/limits";
import { binOf, growth } from "../view/panels/rates";
import type { Series } from "../view/recording";
import { held, type Run } from "../view/run";
import { flowName, type Lab } from "./lab";

interface Line {
  label: string;
  colour: string;
  width: number;
  dash: number[];
  unit: string;
  time: Float64Array;
  value: Float64Array;
  pyramid: Pyramid;
}

/** Line styles: solid for the current scenario, thin and dashed for the pinned one. */
const STYLE = [
  { width: 1.75, dash: [] as number[] },
  { width: 1.25, dash: [5, 3] },
];
const THRESHOLD = [1.5, 3];

/** Maximum number of flows that are drawn: more would be a tangle. */
export const MOST = 8;

/** Lines of the current scenario and, behind them, of the pinned one; colours distinguish flows. */
abstract class LivePanel implements Panel {
  abstract readonly id: string;
  abstract readonly title: string;
  abstract readonly about: string;
  abstract readonly unit: string;
  readonly height = 226;
  private cache: { of: unknown[]; lines: Line[] } | null = null;

  constructor(
    protected readonly model: Model,
    protected readonly lab: Lab,
  ) {}

  /** Lines of a run; `nth` is 0 for the current run, 1 for the pinned one. */
  protected abstract linesOf(run: Run, nth: number, lo: number, hi: number): Line[];

  /** Whether lines depend on the visible part of the time axis. */
  protected readonly zooms: boolean = false;

  protected lines(): Line[] {
    const { axis, theme } = this.model;
    const [lo, hi] = this.zooms ? [axis.lo, axis.hi] : [0, 0];
    const of = [this.lab.result, this.lab.pinned, theme, lo, hi];
    if (this.cache?.of.every((one, index) => one === of[index])) return this.cache.lines;
    const runs = [this.lab.result?.run, this.lab.pinned?.run];
    const lines = runs.flatMap((run, nth) => (run ? this.linesOf(run, nth, axis.lo, axis.hi) : []));
    this.cache = { of, lines };
    return lines;
  }

  keys(): Key[] {
    // The current line's key stands for the pinned one too: dashes are explained once, above the plots.
    return this.lines()
      .filter(({ width, label }) => width > 1.5 && label)
      .map(({ label, colour, time, value, unit }) => ({
        label,
        colour,
        at: (moment: number) => quantity(held(time, value, moment), unit),
      }));
  }

  fit(lo: number, hi: number): [number, number] | null {
    let max = 0;
    for (const { time, pyramid } of this.lines()) {
      if (
        pyramid.range(Math.max(0, upperBound(time, lo) - 1), upperBound(time, hi)) &&
        Number.isFinite(pyramid.max)
      )
        max = Math.max(max, pyramid.max);
    }
    return [0, max || 1];
  }

  paint(pen: Pen, shown: View): void {
    const lines = this.lines();
    for (const { colour, width, dash, time, value, pyramid } of [...lines].reverse()) {
      pen.line(colour, width, stairs(time, value, pyramid, shown), dash);
    }
  }

  protected colour(flow: number): string {
    return this.model.theme.lines[flow % this.model.theme.lines.length]!;
  }

  protected line(run: Run, series: Series, label: string, flow: number, nth: number): Line {
    return {
      label,
      colour: this.colour(flow),
      ...STYLE[nth]!,
      unit: series.measure.unit,
      time: series.time,
      value: series.value,
      pyramid: run.pyramid(series),
    };
  }

  /** Lines of a measure, one per path of a flow, each in its own colour. */
  protected paths(run: Run, measure: string, flow: number, nth: number): Line[] {
    return run.series(measure, flow).map((series, index) => {
      const colour = flow + index * Math.max(1, run.recording.header.flows.length);
      return this.line(run, series, this.named(run, flow, series.path ?? 0), colour, nth);
    });
  }

  protected named(run: Run, flow: number, path: number): string {
    const several = run.series("cwnd", flow).length > 1;
    return several ? `${flowName(this.lab, flow)}, path ${path}` : flowName(this.lab, flow);
  }
}

const flowsOf = (run: Run) =>
  Array.from({ length: Math.min(MOST, run.recording.header.flows.length) }, (_, n) => n);

/** Congestion windows of all flows, over the states of the selected flow. */
export class CwndPanel extends LivePanel {
  readonly id = "live-cwnd";
  readonly title = "Congestion window";
  readonly about = "congestion windows over time, with thresholds dotted, over the first flow’s states";
  readonly unit = "B";

  protected linesOf(run: Run, nth: number): Line[] {
    return flowsOf(run).flatMap((flow) => {
      const windows = this.paths(run, "cwnd", flow, nth);
      const single = windows.length === 1;
      const thresholds = single && nth === 0 ? run.series("ssthresh", flow) : [];
      const dotted = thresholds.map((series) => ({
        ...this.line(run, series, "", flow, nth),
        width: 1,
        dash: THRESHOLD,
      }));
      return [...windows, ...dotted];
    });
  }

  override fit(lo: number, hi: number): [number, number] | null {
    // An initial threshold far above every window may leave the picture.
    let max = 0;
    for (const { time, pyramid, width } of this.lines()) {
      if (width > 1 && pyramid.range(Math.max(0, upperBound(time, lo) - 1), upperBound(time, hi)))
        max = Math.max(max, pyramid.max);
    }
    return [0, max || 1];
  }

  override keys(): Key[] {
    const keys = super.keys();
    const thresholds = this.lines().filter(({ width }) => width === 1);
    if (thresholds.length) {
      // One entry for all: the colour identifies the flow.
      const colour = thresholds.length === 1 ? thresholds[0]!.colour : this.model.theme.soft;
      keys.push({ label: "slow-start threshold", colour, dash: THRESHOLD });
    }
    const { states } = this.lab.result?.run.recording.header ?? { states: [] };
    const seen = new Set(this.state()?.value ?? []);
    for (const state of [...seen].sort((a, b) => a - b)) {
      // The first state, which has no colour, needs no key.
      if (state > 0) keys.push({ label: states[state] ?? "", colour: this.band(state), shape: "band" });
    }
    return keys;
  }

  override paint(pen: Pen, shown: View): void {
    const series = this.state();
    if (series) {
      const { time, value } = series;
      const boxes = new Map<number, number[]>();
      const end = lowerBound(time, shown.hi);
      for (let at = Math.max(0, upperBound(time, shown.lo) - 1); at < end; at++) {
        let next = at + 1;
        while (next < end && value[next] === value[at]) next++;
        const [x1, x2] = [
          shown.x(Math.max(time[at]!, shown.lo)),
          next < end ? shown.x(time[next]!) : shown.box.left + shown.box.width,
        ];
        const list = boxes.get(value[at]!) ?? [];
        list.push(x1, shown.box.top, Math.max(1, x2 - x1), shown.box.height);
        boxes.set(value[at]!, list);
        at = next - 1;
      }
      for (const [state, list] of boxes) {
        if (state > 0) pen.rects(this.band(state), list, this.model.theme.dark ? 0.22 : 0.15);
      }
    }
    super.paint(pen, shown);
  }

  private band(state: number): string {
    return this.model.theme.bands[state % this.model.theme.bands.length]!;
  }

  private state(): Series | undefined {
    const { chosen, result } = this.lab;
    return result?.run.series("state", chosen.kind === "flow" ? chosen.index : 0)[0];
  }
}

/** Goodput of each flow, in bins that follow the zoom. */
export class GoodputPanel extends LivePanel {
  readonly id = "live-goodput";
  readonly title = "Goodput";
  readonly about = "goodput of each flow over time";
  readonly unit = "bit/s";
  protected override readonly zooms = true;

  override fit(): [number, number] | null {
    // Filling a gap delivers all data that waited behind it at once: such a spike may leave the picture.
    const values = this.lines()
      .flatMap(({ value }) => [...value])
      .sort((a, b) => a - b);
    const most = values.at(-1) ?? 0;
    const usual = values[Math.floor(values.length * 0.95)] ?? 0;
    return [0, Math.min(most, usual * 1.3) || most || 1];
  }

  whole(): [number, number] {
    const most = Math.max(...this.lines().flatMap(({ value }) => [...value]), 0);
    return [0, most * 1.06 || 1];
  }

  protected linesOf(run: Run, nth: number, lo: number, hi: number): Line[] {
    const bin = binOf(hi - lo, 480);
    return flowsOf(run).flatMap((flow) => {
      const sum = run.series("delivered", flow)[0] ?? run.bytes(flow, 0, true);
      if (!sum.time.length) return [];
      const bins = growth(sum.time, sum.value, lo, Math.min(hi, run.end), bin);
      const last = bins.value.length - 1;
      // A bin that the run fills only in part would look like a falling rate.
      if (last > 0 && (last + 1) * bin + Math.floor(lo / bin) * bin > run.end)
        bins.value[last] = bins.value[last - 1]!;
      return [
        {
          label: flowName(this.lab, flow),
          colour: this.colour(flow),
          ...STYLE[nth]!,
          unit: "bit/s",
          ...bins,
          pyramid: new Pyramid(bins.value),
        },
      ];
    });
  }
}

export class RttPanel extends LivePanel {
  readonly id = "live-rtt";
  readonly title = "Round-trip time, smoothed";
  readonly about = "smoothed round-trip times of each flow";
  readonly unit = "s";

  protected linesOf(run: Run, nth: number): Line[] {
    return flowsOf(run).flatMap((flow) => this.paths(run, "srtt", flow, nth));
  }
}

/** The longest queues: those of the bottlenecks. */
export class QueuePanel extends LivePanel {
  readonly id = "live-queue";
  readonly title = "Queue";
  readonly about = "bytes that wait at the fullest links";
  readonly unit = "B";

  protected linesOf(run: Run, nth: number): Line[] {
    const queues = run.series("queue", null).map((series) => {
      const pyramid = run.pyramid(series);
      return { series, most: pyramid.range(0, pyramid.length) ? pyramid.max : 0 };
    });
    const fullest = Math.max(0, ...queues.map(({ most }) => most));
    return queues
      .filter(({ most }) => most > 0 && most >= fullest * 0.2)
      .sort((a, b) => b.most - a.most)
      .slice(0, 4)
      .sort((a, b) => a.series.link! - b.series.link!)
      .map(({ series }, index) => {
        const link = run.recording.header.links[series.link ?? 0]!;
        return this.line(run, series, link.forward ? link.name : `${link.name}, back`, index + 4, nth);
      });
  }
}

/** Strips of the current run's flows, and below them those of the pinned one. */
function strips(lab: Lab, { theme }: Model): Strip[] {
  const of = (run: Run | undefined, label: string) =>
    (run ? stripsOf(run, theme.soft) : []).map((strip) => {
      const flow = strip.series.flow!;
      const colour = theme.lines[flow % theme.lines.length]!;
      return { ...strip, row: `${label}${flow}`, name: flowName(lab, flow), colour };
    });
  const after = of(lab.result?.run, "flow ");
  const before = of(lab.pinned?.run, "compared ");
  return [...after, ...before.map((strip) => ({ ...strip, name: `${strip.name}, compared` }))];
}

export const livePanels = (model: Model, lab: Lab): Panel[] => [
  new LimitsPanel(
    "live-limits",
    () => model.theme,
    () => strips(lab, model),
  ),
  new CwndPanel(model, lab),
  new GoodputPanel(model, lab),
  new RttPanel(model, lab),
  new QueuePanel(model, lab),
];
