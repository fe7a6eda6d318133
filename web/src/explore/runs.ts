/** The runs behind a point: each can be opened in the viewer, and two of them over each other. */

import { el } from "../dom";
import { integer } from "../format";
import { told } from "./columns";
import { label } from "./marks";
import { address, Pair } from "./pair";
import type { Answer, Value } from "./types";

/** The runs behind a point. */
export function runs(answer: Answer): HTMLElement {
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
  const names = ["run_id", ...used.filter((name) => name !== "run_id" && (several || name !== "results"))];
  const pair = new Pair();
  const rows = (columns.run_id ?? []).map((id, i) => {
    const run = { id: String(id), dir: String(columns.results?.[i]) };
    return el(
      "tr",
      {},
      el("td", {}, pair.box(run)),
      el("td", {}, el("a", { href: address([run]), target: "_blank", rel: "noopener" }, "view")),
      ...names.map((name) =>
        el("td", { class: name === "run_id" ? "mono" : "" }, shown(columns[name]?.[i] ?? null, name)),
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
    rows.length > 1 ? pair.link : null,
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

function shown(value: Value, column: string): string {
  return typeof value === "number"
    ? column === "seed" || column === "replication" || column === "rows"
      ? String(value)
      : told(value, column, 4)
    : label(value);
}
