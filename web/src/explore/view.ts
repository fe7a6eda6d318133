/** The main view: its query, its drawing, and the notes below. */

import { el } from "../dom";
import { integer } from "../format";
import { draw } from "./chart";
import { title } from "./columns";
import type { Desk } from "./desk";
import { type Drawn, type Mark, marks } from "./marks";
import { legend, type Place } from "./scales";
import { ask, Latest } from "./server";
import { base, type State } from "./state";
import type { Answer, Ask } from "./types";

export interface Listener {
  /** The view was redrawn. */
  drew(): void;
  /** A point, a box or a cell was clicked. */
  picked(mark: Mark): void;
  /** Number of rows under the current filters. */
  rows(): number;
}

export class View {
  /** Marks with the state of their query, which may be older than the page's. */
  drawn: { drawn: Drawn; answer: Answer; state: State } | null = null;
  readonly chart = el("div", { class: "chart", role: "figure", "aria-label": "the view" });
  readonly key = el("div", { class: "key" });
  readonly note = el("p", { class: "note dim", role: "status" });
  private readonly latest = new Latest();

  constructor(
    private readonly desk: Desk,
    private readonly listener: Listener,
  ) {
    let timer = 0;
    new ResizeObserver(() => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.redraw(), 80);
    }).observe(this.chart);
  }

  draw(): void {
    this.latest.run(async () => {
      const state = { ...this.desk.state, filters: this.desk.state.filters };
      try {
        const question = await this.question(state);
        if (!question) {
          this.chart.replaceChildren(el("p", { class: "dim" }, "Choose columns to draw."));
          return;
        }
        const answer = await ask(question);
        this.drawn = { answer, drawn: marks(answer, state, this.desk.survey.several), state };
        this.redraw();
        this.listener.drew();
      } catch (error) {
        this.desk.failed(error);
      }
    });
  }

  private async question(state: State): Promise<Ask | null> {
    const one = base(state, state.kind);
    const series = {
      ...(state.color ? { color: state.color } : {}),
      ...(state.facet ? { facet: state.facet } : {}),
    };
    const x = await this.desk.survey.dimension(state.x, state, state.logX);
    if (!state.y) return null;
    switch (state.kind) {
      case "points":
        return x ? { ...one, ...series, x: { column: x.column }, y: { column: state.y }, limit: 4000 } : null;
      case "heat": {
        const y = await this.desk.survey.dimension(state.y, state, state.logY, 32);
        return x && y
          ? { ...one, x: x.bins ? { ...x, bins: 40 } : x, y, ...(state.z ? { z: state.z } : {}) }
          : null;
      }
      case "hist":
        return { ...one, ...series, y: { column: state.y, bins: 60, log: state.logX } };
      case "ecdf":
        return { ...one, ...series, y: { column: state.y } };
      default:
        return { ...one, ...series, ...(x ? { x } : {}), y: { column: state.y } };
    }
  }

  redraw(): void {
    if (!this.drawn) return;
    const { drawn, answer, state } = this.drawn;
    const width = Math.max(280, this.chart.clientWidth);
    const height = width < 520 ? 320 : Math.max(300, Math.min(560, innerHeight - 448));
    const place: Place = {
      width,
      height,
      order: this.desk.survey.order,
      picked: (mark) => this.listener.picked(mark),
    };
    const empty = !drawn.marks.length;
    this.chart.replaceChildren(
      empty
        ? el("p", { class: "dim empty" }, "No row is left: clear a filter, or choose another column.")
        : draw(drawn, answer, state, place),
    );
    const entries =
      drawn.series.length > 1 && state.kind !== "heat" ? legend(drawn.series, state, place) : [];
    this.key.replaceChildren(
      ...entries.map(([name, color]) => {
        const swatch = el("i", {});
        swatch.style.background = color;
        return el("span", {}, swatch, name);
      }),
    );
    const notes: string[] = [];
    if (drawn.left)
      notes.push(`${drawn.left} more series are not drawn: filter, or colour by another column.`);
    if (drawn.series.length > 8) notes.push("Colours repeat after eight series.");
    const shown = this.listener.rows();
    if (state.kind === "points" && drawn.marks.length >= 4000)
      notes.push(`4 000 of ${integer(shown)} rows are drawn, always the same ones.`);
    if (answer.truncated)
      notes.push("More groups than are told: filter, or choose a column with fewer values.");
    const pooled = this.desk.survey.pooled(state);
    if (pooled.length)
      notes.push(
        `Each mark mixes all levels of ${pooled.map(title).join(" and ")}: filter, or see them side by side.`,
      );
    if (state.kind === "mean") notes.push("Means of runs (a run’s rows count once) with 95 % t-intervals.");
    if (state.kind === "box") notes.push("Box: quartiles and median of rows; line: 5 % to 95 %.");
    this.note.textContent = notes.join(" ");
  }
}
