/** Converts an answer's rows to marks. */

import { edge } from "./binning";
import type { State } from "./state";
import type { Answer, Bins, Filter, Value } from "./types";

export const MOST_SERIES = 20;

/** One mark: what is drawn, and the filters that select the rows behind it. */
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

/** Formats a value as a label. */
export const label = (value: Value): string => (value === null ? "(none)" : String(value));

/** Centre of a bin; on a logarithmic scale, the geometric mean of its edges. */
export function middle(bins: Bins, n: number): number {
  const [low, high] = [edge(bins, n), edge(bins, n + 1)];
  return bins.log ? Math.sqrt(low * high) : (low + high) / 2;
}

/** Filter for a value of a column or, if the column is binned, for the bin with that number. */
function at(column: string, value: Value, bins: Bins | null | undefined): Filter {
  if (!bins || typeof value !== "number") return { column, values: [value] };
  const found: Filter = { column };
  if (value > 0) found.low = edge(bins, value);
  if (value < bins.bins - 1) found.high = edge(bins, value + 1);
  return found;
}

/** Converts the answer's rows to marks, of at most `MOST_SERIES` series. */
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
