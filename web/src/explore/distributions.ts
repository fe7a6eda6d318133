/** Views of a measure's distribution: box plots, empirical distribution functions, histograms. */

import * as Plot from "@observablehq/plot";
import { integer } from "../format";
import { type Body, said } from "./body";
import type { Mark } from "./marks";
import { band } from "./scales";

/** Box plots: median, quartiles, and a line from 5 % to 95 %. */
export function box(all: Mark[], { state, stroke, facet, series, tip, place }: Body): Plot.Markish[] {
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
    tip(
      all,
      { ...(state.x ? { x: "x" } : {}), y: "y" },
      {
        [state.x ?? "all"]: (one) => said(one.x, state.x),
        series: (one) => one.series,
        median: (one) => said(one.y, state.y),
        quartiles: (one) => `${said(one.p25 as number, state.y)} to ${said(one.p75 as number, state.y)}`,
        "5 % to 95 %": (one) => `${said(one.p5 as number, state.y)} to ${said(one.p95 as number, state.y)}`,
        rows: (one) => String(one.n),
      },
    ),
  );
  return shown;
}

/** Empirical distribution functions, as steps. */
export function ecdf(all: Mark[], { state, facet, stroke, tip, options }: Body): Plot.Markish[] {
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
    tip(
      steps,
      { x: "x", y: "y" },
      {
        [state.y ?? ""]: (one) => said(one.x, state.y),
        share: (one) => `${((one.y ?? 0) * 100).toFixed(1)} %`,
        series: (one) => one.series,
        rows: (one) => String(one.n),
      },
    ),
  ];
}

/** Histograms: rows per bin. */
export function hist(all: Mark[], { state, facet, stroke, tip, options, series }: Body): Plot.Markish[] {
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
    tip(
      finite,
      { x: "x", y: "n" },
      {
        from: (one) => said(one.left as number, state.y),
        below: (one) => said(one.right as number, state.y),
        series: (one) => one.series,
        rows: (one) => String(one.n),
      },
      Plot.pointerX,
    ),
  ];
}
