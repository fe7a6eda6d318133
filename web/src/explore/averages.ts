/** Views of one value per group (means) or of single rows (points). */

import * as Plot from "@observablehq/plot";
import { type Body, said } from "./body";
import { told } from "./columns";
import type { Mark } from "./marks";
import { band } from "./scales";

/** Means with their confidence intervals. */
export function mean(
  all: Mark[],
  { state, stroke, facet, series, xNumbers, tip, place }: Body,
): Plot.Markish[] {
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
    tip(
      all,
      { x: "x", y: "y" },
      {
        [state.x ?? "x"]: (one) => said(one.x, state.x),
        series: (one) => one.series,
        mean: (one) => `${said(one.y, state.y)} ± ${told(one.ci as number, state.y ?? "")}`,
        runs: (one) => String(one.n),
      },
    ),
  );
  return shown;
}

/** One dot per row. */
export function points(all: Mark[], { state, stroke, facet, tip }: Body): Plot.Markish[] {
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
    tip(
      all,
      { x: "x", y: "y" },
      {
        [state.x ?? "x"]: (one) => said(one.x, state.x),
        [state.y ?? "y"]: (one) => said(one.y, state.y),
        series: (one) => one.series,
        run: (one) => one.run ?? "",
      },
    ),
  ];
}
