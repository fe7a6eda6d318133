/** Table of the runs behind a point: each opens in the viewer, and two can be overlaid. */

import { el } from "../dom";
import { integer } from "../format";
import { told } from "./columns";
import { label } from "./marks";
import { address, type Pair, SHORT } from "./pair";
import type { Answer, Value } from "./types";

/** Builds the table of the runs behind a point. */
export function runs(answer: Answer, pair: Pair): HTMLElement {
  const columns = answer.columns;
  const total = new Map<string, number>();
  (columns.results ?? []).forEach((name, i) => {
    total.set(String(name), Number(columns.total?.[i] ?? 0));
  });
  const all = [...total.values()].reduce((sum, one) => sum + one, 0);
  const used = Object.keys(columns).filter(
    (name) => name !== "total" && (columns[name] ?? []).some((value) => value !== null),
  );
  const several = total.size > 1;
  const others = used.filter((name) => name !== "run_id" && (several || name !== "results"));
  const differs = (name: string): boolean => new Set(columns[name]).size > 1;
  // Columns in which the runs differ come first: the panel is narrow.
  const names = [...others.filter(differs), ...others.filter((name) => !differs(name)), "run_id"];
  const rows = (columns.run_id ?? []).map((id, i) => {
    const run = { id: String(id), dir: String(columns.results?.[i]) };
    return el(
      "tr",
      {},
      el("td", {}, pair.box(run, words(columns, names, i))),
      el("td", {}, el("a", { href: address([run]), target: "_blank", rel: "noopener" }, "view")),
      ...names.map((name) =>
        name === "run_id"
          ? el("td", { class: "mono", title: run.id }, run.id.slice(0, SHORT))
          : el("td", {}, shown(columns[name]?.[i] ?? null, name)),
      ),
    );
  });
  return el(
    "div",
    {},
    el(
      "p",
      { class: "dim" },
      rows.length < all
        ? `${integer(all)} runs, the first ${rows.length}`
        : `${integer(all)} ${all === 1 ? "run" : "runs"}`,
    ),
    pair.root,
    el(
      "p",
      { class: "dim" },
      "Viewed runs are run again, with every packet kept: a long one takes a minute.",
    ),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, el("th", {}), el("th", {}), ...names.map((name) => el("th", {}, name)))),
        el("tbody", {}, ...rows),
      ),
    ),
  );
}

/** Text values and seed of a run's row, which distinguish the run. */
function words(columns: Answer["columns"], names: string[], i: number): string {
  return names
    .filter((name) => name !== "run_id" && (name === "seed" || typeof columns[name]?.[i] === "string"))
    .map((name) => `${name} ${shown(columns[name]?.[i] ?? null, name)}`)
    .join(", ");
}

function shown(value: Value, column: string): string {
  return typeof value === "number"
    ? column === "seed" || column === "replication" || column === "rows"
      ? String(value)
      : told(value, column, 4)
    : label(value);
}
