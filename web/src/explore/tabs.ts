/** Panels beside the view, one shown at a time. */

import { el } from "../dom";
import type { Desk } from "./desk";
import type { Mark } from "./marks";
import { Pair } from "./pair";
import { runs } from "./runs";
import { ask, Latest } from "./server";
import * as side from "./side";
import { base } from "./state";
import type { Answer, Figure, Kind, Ledger, TableName } from "./types";
import type { View } from "./view";

type Tab = "findings" | "numbers" | "runs" | "sql";

const NAMES: [Tab, string][] = [
  ["findings", "Findings"],
  ["numbers", "Numbers"],
  ["runs", "Runs"],
  ["sql", "SQL"],
];

export class Tabs {
  readonly tabs = el("div", { class: "tabs", role: "tablist" });
  readonly panel = el("div", { class: "panel", role: "tabpanel" });
  private tab: Tab = "findings";
  private ledgers: Ledger[] | null = null;
  private picked: Answer | null = null;
  private readonly pair = new Pair();
  private readonly behind = new Latest();

  constructor(
    private readonly desk: Desk,
    private readonly view: View,
  ) {}

  /** Sets the findings of the results. */
  found(ledgers: Ledger[]): void {
    if (JSON.stringify(ledgers) === JSON.stringify(this.ledgers)) return;
    this.ledgers = ledgers;
    if (this.tab === "findings") this.show();
  }

  /** Updates the open panel if it depends on the drawing. */
  drew(): void {
    if (this.tab !== "runs" && this.tab !== "findings") this.show();
  }

  /** Lists the runs behind a mark. */
  pick(mark: Mark): void {
    this.tab = "runs";
    this.behind.run(async () => {
      try {
        const { state } = this.desk;
        const { x, y, z, kind } = state;
        const own = mark.run ? [{ column: "run_id", values: [mark.run] }] : [];
        this.picked = await ask({
          ...base(state, "runs"),
          filters: [...state.filters, ...mark.at, ...own],
          ...(x ? { x: { column: x } } : {}),
          ...(y ? { y: { column: y } } : {}),
          ...(kind === "heat" && z ? { z } : {}),
        });
        this.show();
        if (innerWidth < 900) this.panel.scrollIntoView({ behavior: "smooth" });
      } catch (error) {
        this.desk.failed(error);
      }
    });
  }

  show(): void {
    this.tabs.replaceChildren(
      ...NAMES.map(([tab, text]) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": tab === this.tab ? "true" : "false",
            onclick: () => {
              this.tab = tab;
              this.show();
            },
          },
          text,
        ),
      ),
    );
    this.panel.replaceChildren(this.content() ?? el("p", { class: "dim" }, "…"));
  }

  /** Content of the open panel; null while it is loading. */
  private content(): HTMLElement | null {
    const { drawn } = this.view;
    const { about } = this.desk.survey;
    switch (this.tab) {
      case "findings":
        return (
          this.ledgers && side.findings(this.ledgers, about.directories, (figure) => jump(this.desk, figure))
        );
      case "numbers":
        return drawn && side.numbers(drawn.drawn.marks, drawn.state, (mark) => this.pick(mark));
      case "runs":
        return this.picked
          ? runs(this.picked, this.pair)
          : el("p", { class: "dim" }, "Click a point, a box or a cell: the runs behind it stand here.");
      case "sql":
        return drawn && side.sql([...drawn.answer.sql, ...(this.picked?.sql ?? [])], drawn.answer.ms);
    }
  }
}

/** Action that shows a figure's columns in the view; null if no table has them. */
function jump(desk: Desk, figure: Figure): (() => void) | null {
  const { survey } = desk;
  const has = (table: TableName, name: string): boolean =>
    survey.columns(table).some((one) => one.name === name);
  const tables = (Object.keys(survey.about.tables) as TableName[]).filter(
    (table) => has(table, figure.x) && has(table, figure.y),
  );
  const table = tables.includes(desk.state.table) ? desk.state.table : tables[0];
  if (!table) return null;
  const known = (name: string | null): string | null => (name && has(table, name) ? name : null);
  const kinds: Record<string, Kind> = { point: "points", box: "box", ecdf: "ecdf", heat: "heat" };
  return () => {
    if (table !== desk.state.table) desk.change({ table, ...survey.measures(table), filters: [] }, "all");
    desk.change(
      {
        kind: kinds[figure.kind] ?? "mean",
        x: figure.x,
        y: figure.y,
        color: known(figure.color),
        facet: known(figure.facet),
        logX: figure.x_scale === "log",
        logY: figure.y_scale === "log",
      },
      "controls",
    );
  };
}
