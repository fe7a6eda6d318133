/** The main view: one answer drawn with Observable Plot. */

import * as Plot from "@observablehq/plot";
import { mean, points } from "./averages";
import type { Body, Tip } from "./body";
import { title } from "./columns";
import { box, ecdf, hist } from "./distributions";
import { heat } from "./heat";
import { type Drawn, label, type Mark } from "./marks";
import {
  band,
  COLORS,
  crowded,
  decades,
  domain,
  longest,
  type Place,
  roomOf,
  shortened,
  sorted,
  ticks,
} from "./scales";
import type { State } from "./state";
import type { Answer } from "./types";

/** Columns whose numbers are identifiers: nothing lies between flow 0 and flow 1. */
const IDENTIFIERS = new Set(["flow", "path", "group", "replication", "seed"]);

const BODIES: Record<State["kind"], (all: Mark[], body: Body) => Plot.Markish[]> = {
  mean,
  points,
  heat,
  box,
  ecdf,
  hist,
};

/** Draws an answer. */
export function draw(drawn: Drawn, answer: Answer, state: State, place: Place): HTMLElement | SVGElement {
  const { marks: all } = drawn;
  const series = sorted(drawn.series, state.color, place);
  const facet = state.facet && state.kind !== "heat" ? { fx: "facet" } : {};
  const xNumbers =
    !(state.kind === "mean" && IDENTIFIERS.has(state.x ?? "")) &&
    (state.kind === "ecdf" || all.every((one) => typeof one.x === "number"));
  const options = layout(all, series, xNumbers, state, place);
  const tip: Tip = (marks, channels, lines, nearest = Plot.pointer) => {
    const title = (one: Mark) =>
      Object.entries(lines)
        .map(([name, of]) => `${name}: ${of(one)}`)
        .join("\n");
    const look = { fill: "var(--paper)", stroke: "var(--line)", channels: {} };
    return Plot.tip(marks, nearest({ ...facet, ...channels, title, ...look } as never));
  };
  const stroke = series.length > 1 ? "series" : "var(--c0)";
  const body = { state, answer, stroke, facet, tip, series, xNumbers, options, place };
  const marks = BODIES[state.kind](all, body);
  const figure = Plot.plot({ ...options, marks });
  listen(figure, place);
  return figure;
}

/** Size, axes and colours of the drawing, which a kind of view may override. */
function layout(
  all: Mark[],
  series: string[],
  xNumbers: boolean,
  state: State,
  place: Place,
): Plot.PlotOptions {
  const facets = new Set(all.map((one) => one.facet)).size;
  const onX = state.kind === "hist" || state.kind === "ecdf" ? state.y : state.x;
  const named = state.facet
    ? domain(
        all.map((one) => one.facet),
        state.facet,
        place,
      ).map(label)
    : [];
  const turned = xNumbers ? 0 : crowded(all, place);
  const room = xNumbers
    ? { below: 46, left: 0 }
    : roomOf(longest(all.map((one) => one.x)), turned, band(all, place));
  return {
    width: place.width,
    height: place.height,
    marginLeft: Math.max(74 + (facets > 1 ? 18 : 0), room.left),
    marginBottom: room.below,
    marginTop: 24,
    insetTop: 12,
    marginRight: 30,
    className: "plot",
    style: { fontSize: "12px", background: "transparent", fontFamily: "inherit" },
    x: xNumbers ? numbersOnX(all, onX, facets, state, place) : namesOnX(all, onX, turned, room.below, place),
    y: measureOnY(all, facets, state),
    color: { domain: series, range: COLORS, legend: false },
    fx: state.facet ? { label: null, domain: named } : {},
  };
}

function numbersOnX(
  all: Mark[],
  column: string | null,
  facets: number,
  state: State,
  place: Place,
): Plot.ScaleOptions {
  const room = Math.max(1, Math.round((place.width - 90) / facets / 90));
  const spread = all.flatMap((one) =>
    Array.isArray(one.q) ? (one.q as unknown as number[]) : [typeof one.x === "number" ? one.x : NaN],
  );
  return {
    label: column ? title(column) : "",
    type: state.logX ? "log" : "linear",
    nice: !state.logX,
    tickFormat: ticks(column),
    ticks: (state.logX && decades(spread, room)) || room,
  };
}

function namesOnX(
  all: Mark[],
  column: string | null,
  turned: number,
  below: number,
  place: Place,
): Plot.ScaleOptions {
  const values = all.map((one) => one.x);
  return {
    type: "point",
    label: column ? title(column) : "",
    domain: domain(values, column, place),
    tickFormat: shortened as never,
    tickRotate: turned,
    labelAnchor: "right",
    labelOffset: below - 4,
  };
}

function measureOnY(all: Mark[], facets: number, state: State): Plot.ScaleOptions {
  const spread = all.flatMap((one) => [one.y ?? NaN, one.high]);
  return {
    label: state.y ? title(state.y) : "",
    grid: true,
    type: state.logY ? "log" : "linear",
    nice: !state.logY,
    tickFormat: ticks(state.y),
    ticks: (state.logY && decades(spread, 12)) || 6,
    ...(facets > 1 ? { labelAnchor: "center" as const } : {}),
  };
}

/** Passes clicks on a mark to `place.picked`. */
function listen(figure: HTMLElement | SVGElement, place: Place): void {
  figure.addEventListener("click", () => {
    const mark = (figure as unknown as { value: Mark | null }).value;
    if (mark) place.picked(mark);
  });
}
