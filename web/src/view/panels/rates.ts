import { before, stairs, type View } from "../../drawing/lod";
import type { Key, Panel } from "../../drawing/panel";
import type { Pen } from "../../drawing/pen";
import { Pyramid } from "../../drawing/pyramid";
import { upperBound } from "../../drawing/search";
import { quantity } from "../../format";
import { dash, type Model, overlaid, runColour, runWidth } from "../model";
import { held, type Run } from "../run";

/** Approximate width of a bin, in pixels. */
const BIN = 6;

/** Factor above the rates on the wire up to which a pacing rate is shown. */
const PACED = 1.6;

interface Rate {
  label: string;
  colour: string;
  dash: number[];
  width?: number;
  time: Float64Array;
  value: Float64Array;
  /** Whether it is a cumulative sum, whose growth in each bin is the rate; a series of rates is drawn as it is. */
  sum: boolean;
  /** Time up to which it is known; if absent, the end. */
  known?: number;
  pyramid?: Pyramid;
}

/** Bin width of 1, 2 or 5 times a power of ten nanoseconds: edges stay in place while the picture moves. */
export function binOf(span: number, width: number): number {
  const least = Math.max(1, (span / width) * BIN);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((step) => step * power >= least)! * power;
}

/** Growth of a cumulative sum in bins, in bit/s. */
export function growth(time: Float64Array, value: Float64Array, lo: number, hi: number, bin: number) {
  const first = Math.floor(lo / bin) * bin;
  const count = Math.ceil((hi - first) / bin);
  const moments = new Float64Array(count);
  const rates = new Float64Array(count);
  let before = held(time, value, first) || 0;
  let index = Math.max(0, upperBound(time, first));
  for (let at = 0; at < count; at++) {
    index = upperBound(time, first + (at + 1) * bin, index);
    const after = index > 0 ? value[index - 1]! : 0;
    moments[at] = first + at * bin;
    rates[at] = ((after - before) * 8e9) / bin;
    before = after;
  }
  return { time: moments, value: rates };
}

/** Sending rate, delivery rate, goodput and pacing rate of a flow. */
export class RatesPanel implements Panel {
  readonly id = "rates";
  readonly title = "Rates";
  readonly about =
    "sending rate, delivery rate, goodput and pacing rate of the flow in bins that follow the zoom";
  readonly height = 190;
  readonly unit = "bit/s";
  readonly ofPackets = true;
  private width = 1000;

  constructor(private readonly model: Model) {}

  keys(): Key[] {
    return this.rates().map((rate) => ({
      label: rate.label,
      colour: rate.colour,
      dash: rate.dash,
      at: (moment) => {
        if (moment > (rate.known ?? moment)) return "–";
        const bin = binOf(this.model.axis.span, this.width);
        const drawn = rate.sum
          ? growth(rate.time, rate.value, moment - (moment % bin), moment + 1, bin)
          : rate;
        return quantity(held(drawn.time, drawn.value, moment), "bit/s");
      },
    }));
  }

  fit(lo: number, hi: number, width: number): [number, number] | null {
    this.width = width;
    const rates = this.rates();
    const greatest = (of: Rate[]) =>
      of.reduce((most, rate) => {
        for (const value of this.drawn(rate, lo, hi).value)
          if (value > most && Number.isFinite(value)) most = value;
        return most;
      }, 0);
    // Filling a gap delivers all data that waited behind it at once, and a sender without an estimate paces as if there
    // were no limit: such spikes may leave the picture.
    const onWire = greatest(rates.filter(({ label, sum }) => sum && !/(goodput|acknowledged)$/.test(label)));
    const paced = greatest(rates.filter(({ sum }) => !sum));
    const max = onWire ? Math.max(onWire, Math.min(paced, onWire * PACED)) : greatest(rates);
    return max ? [0, max] : null;
  }

  paint(pen: Pen, shown: View): void {
    for (const rate of this.rates()) {
      const { time, value, pyramid, end } = this.drawn(rate, shown.lo, shown.hi);
      const part = before(shown, end);
      if (part) pen.line(rate.colour, rate.width ?? 1.25, stairs(time, value, pyramid, part), rate.dash);
    }
  }

  private drawn(rate: Rate, lo: number, hi: number) {
    if (!rate.sum) {
      const first = Math.max(0, upperBound(rate.time, lo) - 1);
      const end = upperBound(rate.time, hi);
      const time = rate.time.subarray(first, end);
      const value = rate.value.subarray(first, end);
      return { time, value, pyramid: new Pyramid(value), end: hi };
    }
    const bin = binOf(hi - lo, this.width);
    // A bin of which only a part is known would look like a falling rate.
    const end = rate.known === undefined ? hi : Math.min(hi, Math.floor(rate.known / bin) * bin);
    const bins = growth(rate.time, rate.value, lo, Math.max(lo, end), bin);
    return { ...bins, pyramid: new Pyramid(bins.value), end };
  }

  private rates(): Rate[] {
    const over = overlaid(this.model);
    return this.model.runs.flatMap((run, nth) =>
      this.ratesOf(run).map((rate, order) => ({
        ...rate,
        label: over ? `${run.name}: ${rate.label}` : rate.label,
        colour: over ? runColour(this.model, nth) : rate.colour,
        width: runWidth(this.model, nth),
        dash: over ? dash(order) : rate.dash,
      })),
    );
  }

  private ratesOf(run: Run): Rate[] {
    const { flow, path, theme } = this.model;
    const known = run.isCut ? { known: run.known } : {};
    const paths = path < 0 ? run.paths(flow) : [path];
    const rates: Rate[] = [];
    for (const one of paths) {
      const suffix = paths.length > 1 ? `, path ${one}` : "";
      const style = { ...known, dash: dash(paths.length > 1 ? one : 0) };
      const [sent, arrived] = [run.bytes(flow, one, false), run.bytes(flow, one, true)];
      if (sent.time.length)
        rates.push({
          label: `${run.atOnePlace ? "passing" : "sent"}${suffix}`,
          colour: theme.lines[4]!,
          sum: true,
          ...style,
          ...sent,
        });
      if (arrived.time.length && !run.atOnePlace) {
        rates.push({ label: `delivered${suffix}`, colour: theme.lines[0]!, sum: true, ...style, ...arrived });
      }
    }
    const delivered = run.series("delivered", flow)[0];
    const { acks } = run.sequence(flow, path);
    // Acknowledgements of several paths, each with its own sequence space, do not make one sum.
    const goodput = delivered ?? (acks.length === 1 ? acks[0]!.ack : undefined);
    if (goodput?.time.length) {
      rates.push({
        label: run.observed ? "acknowledged" : "goodput",
        colour: theme.lines[2]!,
        dash: [],
        sum: true,
        // The series of data read covers the whole run; acknowledgements are packets.
        ...(delivered ? {} : known),
        time: goodput.time,
        value: goodput.value,
      });
    }
    for (const series of run.series("pacing_rate", flow, path)) {
      rates.push({
        label: "pacing rate",
        colour: theme.lines[3]!,
        dash: dash(series.path ?? 0),
        sum: false,
        ...series,
      });
    }
    return rates;
  }
}
