/** The large view: one answer drawn by Observable Plot. */

import * as Plot from "@observablehq/plot";
import { integer } from "../format";
import { edge } from "./binning";
import { title, told, unit } from "./columns";
import type { State } from "./state";
import type { Answer, Bins, Filter, Value } from "./types";

export const MOST_SERIES = 20;
const COLORS = Array.from({ length: MOST_SERIES }, (_, n) => `var(--c${n % 8})`);

/** Columns whose numbers are names: nothing lies between flow 0 and flow 1. */
const NAMES = new Set(["flow", "path", "group", "replication", "seed"]);

/** One mark: what is drawn, and the filters that give the rows behind it. */
export interface Mark {
  series: string;
  facet: string;
  x: Value;
  y: number | null;
  low: number;
  high: number;
  n: number;
  at: Filter[];
  run?: string;
  results: string;
  [more: string]: unknown;
}

export interface Drawn {
  marks: Mark[];
  series: string[];
  left: number;
}

/** A value as a label. */
export const label = (value: Value): string => (value === null ? "(none)" : String(value));

function middle(bins: Bins, n: number): number {
  const [low, high] = [edge(bins, n), edge(bins, n + 1)];
  return bins.log ? Math.sqrt(low * high) : (low + high) / 2;
}

/** The filter for a value of a column, or for the bin that it is the number of. */
function at(column: string, value: Value, bins: Bins | null | undefined): Filter {
  if (!bins || typeof value !== "number") return { column, values: [value] };
  const found: Filter = { column };
  if (value > 0) found.low = edge(bins, value);
  if (value < bins.bins - 1) found.high = edge(bins, value + 1);
  return found;
}

/** The answer's rows as marks, of at most so many series. */
export function marks(answer: Answer, state: State, several: boolean): Drawn {
  const columns = answer.columns;
  const rows = columns.results?.length ?? 0;
  const value = (name: string, i: number): Value => columns[name]?.[i] ?? null;
  const number = (name: string, i: number): number => {
    const one = columns[name]?.[i];
    return typeof one === "number" ? one : NaN;
  };
  const found: Mark[] = [];
  const series = new Map<string, number>();
  const xBins = state.x ? answer.bins[state.x] : null;
  const yBins = state.y ? answer.bins[state.y] : null;
  for (let i = 0; i < rows; i++) {
    const results = label(value("results", i));
    const color = state.color && state.kind !== "heat" ? label(value("color", i)) : "";
    const name =
      [several && state.facet !== "results" && state.color !== "results" ? results : "", color]
        .filter(Boolean)
        .join(" · ") || "all";
    series.set(name, (series.get(name) ?? 0) + 1);
    const points: Filter[] = [{ column: "results", values: [results] }];
    const given = state.kind === "hist" ? value("bin", i) : value("x", i);
    const onX = state.kind === "hist" ? state.y : state.x;
    if (onX && columns[state.kind === "hist" ? "bin" : "x"] && state.kind !== "points")
      points.push(at(onX, given, answer.bins[onX]));
    if (state.kind === "heat" && state.y) points.push(at(state.y, value("y", i), yBins));
    if (state.color && state.kind !== "heat")
      points.push({ column: state.color, values: [value("color", i)] });
    if (state.facet && columns.facet) points.push({ column: state.facet, values: [value("facet", i)] });
    const bins = state.kind === "hist" ? yBins : xBins;
    const binned = bins && typeof given === "number" && state.kind !== "points";
    const mean =
      state.kind === "points" ? number("y", i) : state.kind === "box" ? number("p50", i) : number("mean", i);
    const half = number("ci", i);
    found.push({
      series: name,
      facet: state.facet ? label(value("facet", i)) : "",
      results,
      at: points,
      n: number("n", i),
      x: binned ? middle(bins, given) : onX ? given : "all",
      y: mean,
      row: value("y", i),
      left: binned ? edge(bins, given) : NaN,
      right: binned ? edge(bins, given + 1) : NaN,
      low: Number.isNaN(half) ? mean : mean - half,
      high: Number.isNaN(half) ? mean : mean + half,
      ci: half,
      p5: number("p5", i),
      p25: number("p25", i),
      p75: number("p75", i),
      p95: number("p95", i),
      q: columns.q?.[i] ?? null,
      ...(columns.run_id ? { run: label(value("run_id", i)) } : {}),
    });
  }
  const names = [...series.keys()];
  const kept = new Set(names.slice(0, MOST_SERIES));
  return {
    marks: found.filter((one) => kept.has(one.series)),
    series: names.slice(0, MOST_SERIES),
    left: names.length - kept.size,
  };
}

/** What a view is drawn with. */
export interface Place {
  width: number;
  height: number;
  order: (column: string) => Value[];
  picked: (mark: Mark) => void;
}

/** The drawing of an answer. */
export function draw(drawn: Drawn, answer: Answer, state: State, place: Place): HTMLElement | SVGElement {
  const { marks: all } = drawn;
  const series = sorted(drawn.series, state.color, place);
  const colored = series.length > 1;
  const onX = state.kind === "hist" ? state.y : state.kind === "ecdf" ? state.y : state.x;
  const onY = state.kind === "heat" ? state.y : state.y;
  const xNumbers =
    !(state.kind === "mean" && NAMES.has(state.x ?? "")) &&
    (state.kind === "ecdf" || all.every((one) => typeof one.x === "number"));
  const facet = state.facet && state.kind !== "heat" ? { fx: "facet" } : {};
  const facets = new Set(all.map((one) => one.facet)).size;
  const room = Math.max(1, Math.round((place.width - 90) / facets / 90));
  const spread = all.flatMap((one) =>
    Array.isArray(one.q) ? (one.q as unknown as number[]) : [typeof one.x === "number" ? one.x : NaN],
  );
  const turned = xNumbers ? 0 : crowded(all, place);
  const options: Plot.PlotOptions = {
    width: place.width,
    height: place.height,
    marginLeft: 74 + (facets > 1 ? 18 : 0),
    marginBottom: turned ? 84 : 46,
    marginTop: 24,
    insetTop: 12,
    marginRight: 30,
    className: "plot",
    style: { fontSize: "12px", background: "transparent", fontFamily: "inherit" },
    x: xNumbers
      ? {
          label: onX ? title(onX) : "",
          type: state.logX ? "log" : "linear",
          nice: !state.logX,
          tickFormat: ticks(onX),
          ticks: (state.logX && decades(spread, room)) || room,
        }
      : {
          type: "point" as const,
          label: onX ? title(onX) : "",
          domain: domain(
            all.map((one) => one.x),
            onX,
            place,
          ),
          tickFormat: label as never,
          tickRotate: turned,
          labelAnchor: "right" as const,
          labelOffset: turned ? 80 : 42,
        },
    y: {
      label: onY ? title(onY) : "",
      grid: true,
      type: state.logY ? "log" : "linear",
      nice: !state.logY,
      tickFormat: ticks(onY),
      ticks:
        (state.logY &&
          decades(
            all.flatMap((one) => [one.y ?? NaN, one.high]),
            12,
          )) ||
        6,
      ...(facets > 1 ? { labelAnchor: "center" as const } : {}),
    },
    color: { domain: series, range: COLORS, legend: false },
    fx: state.facet
      ? {
          label: null,
          domain: domain(
            all.map((one) => one.facet),
            state.facet,
            place,
          ).map(label),
        }
      : {},
  };
  const stroke = colored ? "series" : "var(--c0)";
  const tip = (more: Record<string, (one: Mark) => string>): Plot.TipOptions & { channels: object } =>
    ({
      ...facet,
      title: (one: Mark) =>
        Object.entries(more)
          .map(([name, of]) => `${name}: ${of(one)}`)
          .join("\n"),
      fill: "var(--paper)",
      stroke: "var(--line)",
      channels: {},
    }) as never;
  const body = bodies[state.kind](all, {
    state,
    answer,
    stroke,
    facet,
    tip,
    series,
    xNumbers,
    options,
    place,
  });
  const figure = Plot.plot({ ...options, marks: body });
  listen(figure, place);
  return figure;
}

interface Body {
  state: State;
  answer: Answer;
  stroke: string;
  facet: object;
  series: string[];
  xNumbers: boolean;
  options: Plot.PlotOptions;
  place: Place;
  tip: (more: Record<string, (one: Mark) => string>) => object;
}

const said = (value: Value, column: string | null): string =>
  typeof value === "number" && column ? told(value, column, 4) : label(value);

const bodies: Record<State["kind"], (all: Mark[], body: Body) => Plot.Markish[]> = {
  mean(all, { state, stroke, facet, series, xNumbers, tip, place }) {
    const shown: Plot.Markish[] = [];
    const step = Math.min(7, (0.8 * band(all, place)) / Math.max(1, series.length));
    series.forEach((name, n) => {
      const mine = all.filter((one) => one.series === name && !(state.logY && (one.y ?? 0) <= 0));
      const dx = xNumbers ? 0 : (n - (series.length - 1) / 2) * step;
      const low = (one: Mark): number => (state.logY && one.low <= 0 ? (one.y ?? 0) : one.low);
      if (xNumbers)
        shown.push(Plot.lineY(mine, { ...facet, x: "x", y: "y", stroke, strokeWidth: 1.5, sort: "x" }));
      shown.push(
        Plot.ruleX(
          mine.filter((one) => one.high > one.low),
          { ...facet, x: "x", y1: low, y2: "high", stroke, strokeWidth: 1.5, dx },
        ),
        Plot.dot(mine, {
          ...facet,
          x: "x",
          y: "y",
          fill: stroke,
          r: 3.5,
          dx,
          stroke: "var(--paper)",
          strokeWidth: 0.75,
        }),
      );
    });
    shown.push(
      Plot.tip(
        all,
        Plot.pointer({
          x: "x",
          y: "y",
          ...tip({
            [state.x ?? "x"]: (one) => said(one.x, state.x),
            series: (one) => one.series,
            mean: (one) => `${said(one.y, state.y)} ± ${told(one.ci as number, state.y ?? "")}`,
            replications: (one) => String(one.n),
          }),
        } as never),
      ),
    );
    return shown;
  },
  points(all, { state, stroke, facet, tip }) {
    const dense = all.length > 1500;
    return [
      Plot.dot(all, {
        ...facet,
        x: "x",
        y: "y",
        fill: stroke,
        r: dense ? 1.6 : 2.6,
        fillOpacity: dense ? 0.45 : 0.7,
      }),
      Plot.tip(
        all,
        Plot.pointer({
          x: "x",
          y: "y",
          ...tip({
            [state.x ?? "x"]: (one) => said(one.x, state.x),
            [state.y ?? "y"]: (one) => said(one.y, state.y),
            series: (one) => one.series,
            run: (one) => one.run ?? "",
          }),
        } as never),
      ),
    ];
  },
  heat(all, { state, answer, tip, options, place }) {
    const rows = state.y ? answer.bins[state.y] : null;
    const cols = state.x ? answer.bins[state.x] : null;
    const of = state.z ?? "rows";
    const told_ = tip({
      [state.x ?? "x"]: (one) => said(one.x, state.x),
      [state.y ?? "y"]: (one) => said(one.row as Value, state.y),
      [of]: (one) => `${said(one.y, state.z)}${state.z ? ` ± ${told(one.ci as number, state.z)}` : ""}`,
      runs: (one) => String(one.n),
    });
    for (const one of all) {
      if (rows && typeof one.row === "number") {
        Object.assign(one, { below: edge(rows, one.row), above: edge(rows, one.row + 1) });
        one.row = middle(rows, one.row);
      }
    }
    const finite = all.filter(
      (one) => (!rows || typeof one.row === "number") && (!cols || typeof one.x === "number"),
    );
    const values = all.map((one) => one.y ?? NaN).filter((value) => Number.isFinite(value));
    // A few large values would leave all others in one colour.
    const log = Math.min(...values) > 0 && Math.max(...values) > 100 * Math.min(...values);
    options.color = {
      scheme: "viridis",
      legend: true,
      label: `${state.z ? title(state.z) : "rows"}${log ? ", logarithmic" : ""}`,
      ticks: 4,
      tickFormat: ticks(state.z),
      type: log ? "log" : "linear",
      width: Math.min(380, place.width - 20),
    } as Plot.ScaleOptions;
    options.padding = 0.04;
    if (!cols)
      options.x = {
        ...options.x,
        type: "band",
        domain: domain(
          all.map((one) => one.x),
          state.x,
          place,
        ),
      };
    if (!rows)
      options.y = {
        label: state.y ? title(state.y) : "",
        type: "band",
        domain: domain(
          all.map((one) => one.row as Value),
          state.y,
          place,
        ),
        tickFormat: label as never,
      };
    options.marginLeft = rows ? 68 : 110;
    if (!rows) options.y = { ...options.y, labelAnchor: "top", labelArrow: "none" };
    const several = new Set(all.map((one) => one.results)).size > 1 ? { fx: "results" } : {};
    const sides = {
      ...several,
      ...(cols ? { x1: "left", x2: "right" } : { x: "x" }),
      ...(rows ? { y1: "below", y2: "above" } : { y: "row" }),
      fill: "y",
      inset: 0.5,
    };
    const cells =
      cols && rows
        ? Plot.rect(finite, sides)
        : cols
          ? Plot.barX(finite, sides)
          : rows
            ? Plot.barY(finite, sides)
            : Plot.cell(finite, sides);
    return [cells, Plot.tip(finite, Plot.pointer({ ...several, x: "x", y: "row", ...told_ } as never))];
  },
  box(all, { state, stroke, facet, series, tip, place }) {
    const shown: Plot.Markish[] = [];
    const width = Math.max(1.5, Math.min(9, (0.8 * band(all, place)) / Math.max(1, series.length) - 2));
    series.forEach((name, n) => {
      const mine = all.filter((one) => one.series === name);
      const dx = (n - (series.length - 1) / 2) * (width + 2);
      const x = state.x ? { x: "x" } : {};
      shown.push(
        Plot.ruleX(mine, { ...facet, ...x, y1: "p5", y2: "p95", stroke, dx }),
        Plot.ruleX(mine, { ...facet, ...x, y1: "p25", y2: "p75", stroke, strokeWidth: width, dx }),
        Plot.dot(mine, { ...facet, ...x, y: "y", fill: "var(--paper)", stroke, r: 2.5, dx }),
      );
    });
    shown.push(
      Plot.tip(
        all,
        Plot.pointer({
          ...(state.x ? { x: "x" } : {}),
          y: "y",
          ...tip({
            [state.x ?? "all"]: (one) => said(one.x, state.x),
            series: (one) => one.series,
            median: (one) => said(one.y, state.y),
            quartiles: (one) => `${said(one.p25 as number, state.y)} to ${said(one.p75 as number, state.y)}`,
            "5 % to 95 %": (one) =>
              `${said(one.p5 as number, state.y)} to ${said(one.p95 as number, state.y)}`,
            rows: (one) => String(one.n),
          }),
        } as never),
      ),
    );
    return shown;
  },
  ecdf(all, { state, facet, stroke, tip, options }) {
    const steps = all
      .flatMap((one) => {
        const q = Array.isArray(one.q) ? (one.q as unknown as number[]) : [];
        return q.map((value, n) => ({ ...one, x: value, y: n / (q.length - 1) }));
      })
      .filter((one) => !state.logX || one.x > 0);
    options.y = {
      ...options.y,
      type: "linear",
      nice: false,
      label: "share of rows",
      domain: [0, 1],
      grid: true,
      tickFormat: "%",
      ticks: 5,
    };
    return [
      Plot.line(steps, {
        ...facet,
        x: "x",
        y: "y",
        z: (one: Mark) => `${one.series} ${one.facet}`,
        stroke,
        strokeWidth: 1.5,
        curve: "step-after",
      }),
      Plot.tip(
        steps,
        Plot.pointer({
          x: "x",
          y: "y",
          ...tip({
            [state.y ?? ""]: (one) => said(one.x, state.y),
            share: (one) => `${((one.y ?? 0) * 100).toFixed(1)} %`,
            series: (one) => one.series,
            rows: (one) => String(one.n),
          }),
        } as never),
      ),
    ];
  },
  hist(all, { state, facet, stroke, tip, options, series }) {
    options.y = {
      ...options.y,
      label: "rows",
      type: state.logY ? "symlog" : "linear",
      nice: true,
      ticks: 6,
      tickFormat: (value: number) => integer(value),
    };
    const many = series.length > 1;
    const shared = { ...facet, x1: "left", x2: "right" };
    const finite = all.filter((one) => typeof one.left === "number" && !Number.isNaN(one.left));
    return [
      many
        ? Plot.rectY(finite, { ...shared, y: "n", fill: stroke, fillOpacity: 0.85, insetLeft: 0.5 })
        : Plot.rectY(finite, { ...shared, y1: 0, y2: "n", fill: stroke, insetLeft: 0.5 }),
      Plot.tip(
        finite,
        Plot.pointerX({
          x: "x",
          y: "n",
          ...tip({
            from: (one) => said(one.left as number, state.y),
            below: (one) => said(one.right as number, state.y),
            series: (one) => one.series,
            rows: (one) => String(one.n),
          }),
        } as never),
      ),
    ];
  },
};

/** The width that a value of x has. */
function band(all: Mark[], place: Place): number {
  const [values, facets] = [
    new Set(all.map((one) => label(one.x))).size,
    new Set(all.map((one) => one.facet)).size,
  ];
  return (place.width - 110) / Math.max(1, facets) / Math.max(1, values);
}

/** A click, where a mark is pointed at. */
function listen(figure: HTMLElement | SVGElement, place: Place): void {
  figure.addEventListener("click", () => {
    const mark = (figure as unknown as { value: Mark | null }).value;
    if (mark) place.picked(mark);
  });
}

/** Powers of ten between the least and the largest value, at most so many, where there are two. */
function decades(values: number[], most: number): number[] | null {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  const [low, high] = positive.reduce(
    ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
    [Infinity, 0],
  );
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (!Number.isFinite(first) || last - first < 1) return null;
  const step = Math.ceil((last - first + 1) / Math.max(2, most));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, n) => 10 ** (first + n * step));
}

function ticks(column: string | null): (value: number) => string {
  return (value) => told(value, column && unit(column) ? column : "", 3);
}

/** Values in the order of a factor's labels, or of numbers, or of the alphabet. */
export function domain(values: Value[], column: string | null, place: Pick<Place, "order">): Value[] {
  const order = column ? place.order(column) : [];
  const rank = (value: Value): number => {
    const at = order.findIndex((one) => label(one) === label(value));
    return at < 0 ? order.length : at;
  };
  const unique = [...new Map(values.map((value) => [label(value), value])).values()];
  return unique.sort(
    (a, b) =>
      rank(a) - rank(b) ||
      (typeof a === "number" && typeof b === "number" ? a - b : label(a).localeCompare(label(b))),
  );
}

function sorted(series: string[], color: string | null, place: Place): string[] {
  const order = color ? place.order(color).map(label) : [];
  const rank = (name: string): number => {
    const at = order.indexOf(name.split(" · ").at(-1) ?? "");
    return at < 0 ? order.length : at;
  };
  return [...series].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }));
}

function crowded(all: Mark[], place: Place): number {
  const names = new Set(all.map((one) => label(one.x)));
  const letters = [...names].reduce((sum, one) => sum + one.length + 2, 0) * 6.5;
  const facets = Math.max(1, new Set(all.map((one) => one.facet)).size);
  return letters > (place.width - 80) / facets ? -40 : 0;
}

/** The colour of each series, as the drawing has it. */
export function legend(series: string[], state: State, place: Place): [string, string][] {
  return sorted(series, state.color, place).map((name, n) => [name, COLORS[n] ?? ""]);
}
