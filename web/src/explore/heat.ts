/** Heat map view. */

import * as Plot from "@observablehq/plot";
import { edge } from "./binning";
import { type Body, said } from "./body";
import { title, told } from "./columns";
import { type Mark, middle } from "./marks";
import { domain, longest, shortened, ticks } from "./scales";
import type { Value } from "./types";

/** Draws a measure, or the number of rows, by two columns. */
export function heat(all: Mark[], { state, answer, tip, options, place }: Body): Plot.Markish[] {
  const rows = state.y ? answer.bins[state.y] : null;
  const cols = state.x ? answer.bins[state.x] : null;
  const of = state.z ?? "rows";
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
    // The last label is centred at the end of the bar.
    marginRight: 34,
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
      tickFormat: shortened as never,
    };
  options.marginLeft = rows ? 68 : Math.max(72, longest(all.map((one) => one.row as Value)) + 16);
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
  return [
    cells,
    tip(
      finite,
      { ...several, x: "x", y: "row" },
      {
        [state.x ?? "x"]: (one) => said(one.x, state.x),
        [state.y ?? "y"]: (one) => said(one.row as Value, state.y),
        [of]: (one) => `${said(one.y, state.z)}${state.z ? ` ± ${told(one.ci as number, state.z)}` : ""}`,
        runs: (one) => String(one.n),
      },
    ),
  ];
}
