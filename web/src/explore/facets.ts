/** Filters as lists of checkboxes, one per value, with the number of its rows under all other filters. */

import { el } from "../dom";
import { integer } from "../format";
import { title } from "./columns";
import type { Desk } from "./desk";
import { label } from "./marks";
import { domain } from "./scales";
import type { Value } from "./types";

const LISTED = 14;

export class Facets {
  readonly root = el("div", { class: "facets" });
  private readonly bounds = new Map<string, Map<Value, number>>();

  constructor(private readonly desk: Desk) {}

  clear(): void {
    this.bounds.clear();
    this.root.replaceChildren();
  }

  /** Shows a column's values as checkboxes, with the number of rows of each. */
  list(column: string, counts: Map<Value, number>): void {
    const known = this.bounds.get(column) ?? new Map<Value, number>();
    for (const [value, n] of counts) known.set(value, Math.max(n, known.get(value) ?? 0));
    this.bounds.set(column, known);
    let box = this.root.querySelector<HTMLElement>(`[data-facet="${CSS.escape(column)}"]`);
    if (known.size < 2 || this.duplicates(column, known)) {
      box?.remove();
      return;
    }
    const kept = this.desk.state.filters.find((one) => one.column === column)?.values;
    const values = domain([...known.keys()], column, { order: this.desk.survey.order });
    if (!box) {
      box = el("fieldset", { "data-facet": column });
      const places = this.desk.survey.listed(this.desk.state);
      const after = [...this.root.children].find(
        (one) => places.indexOf((one as HTMLElement).dataset.facet ?? "") > places.indexOf(column),
      );
      this.root.insertBefore(box, after ?? null);
    }
    if (box.childElementCount !== 2 || box.dataset.n !== String(values.length)) {
      box.dataset.n = String(values.length);
      const items = values.map((value) => {
        const input = el("input", {
          type: "checkbox",
          onchange: () => this.ticked(column, value, values, input.checked),
        });
        return el(
          "label",
          { class: "level" },
          input,
          el("span", { class: "text", title: label(value) }, label(value)),
          el("span", { class: "n" }),
          el("span", { class: "bar" }),
        );
      });
      const factor = this.desk.survey.about.directories
        .flatMap((one) => one.factors)
        .find((one) => one.name === column);
      box.replaceChildren(
        el(
          "legend",
          {},
          el("span", { title: column }, factor?.title || title(column)),
          el("button", { type: "button", class: "quiet link", onclick: () => this.unfilter(column) }, "all"),
        ),
        el("div", { class: values.length > LISTED ? "levels long" : "levels" }, ...items),
      );
    }
    const most = Math.max(1, ...known.values());
    box.classList.toggle("on", kept !== undefined);
    box.querySelectorAll<HTMLElement>("label.level").forEach((item, n) => {
      const value = values[n] ?? null;
      const found = counts.get(value) ?? 0;
      const input = item.querySelector("input");
      if (input) input.checked = kept?.includes(value) ?? false;
      const [, number, bar] = item.querySelectorAll("span");
      if (number) number.textContent = integer(found);
      if (bar) bar.style.setProperty("--part", String(found / most));
    });
  }

  /** Whether a column duplicates a factor, as `cc` does where congestion controls are compared. */
  private duplicates(column: string, known: Map<Value, number>): boolean {
    const factors = this.desk.survey.factors(this.desk.state.part);
    const fingerprint = (counts: Map<Value, number>): string =>
      JSON.stringify([...counts].map(([value, n]) => [label(value), n]).sort());
    return (
      !factors.includes(column) &&
      column !== "results" &&
      factors.some((name) => {
        const other = this.bounds.get(name);
        return other !== undefined && fingerprint(other) === fingerprint(known);
      })
    );
  }

  private ticked(column: string, value: Value, values: Value[], on: boolean): void {
    const kept = this.desk.state.filters.find((one) => one.column === column)?.values;
    const chosen = on ? [...(kept ?? []), value] : (kept ?? []).filter((one) => one !== value);
    const others = this.desk.state.filters.filter((one) => one.column !== column);
    this.desk.change({
      filters:
        chosen.length && chosen.length < values.length ? [...others, { column, values: chosen }] : others,
    });
  }

  private unfilter(column: string): void {
    this.desk.change({ filters: this.desk.state.filters.filter((one) => one.column !== column) });
  }
}
