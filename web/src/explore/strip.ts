/** A small histogram with a brush: the brushed range filters every other view. */

import { brushX, type D3BrushEvent } from "d3-brush";
import { select } from "d3-selection";
import { el, svg, tick } from "../dom";
import { place, range } from "./binning";
import { title, told } from "./columns";
import type { Bins, Filter, Value } from "./types";

const [WIDTH, HEIGHT] = [220, 62];

export interface Listener {
  /** A brush starts: the counts for each of this column's bins are needed. */
  begun(column: string): void;
  /** The brush covers bins `from` to `to` (exclusive). */
  moved(column: string, filter: Filter, from: number, to: number): void;
  /** The brush was released; `filter` is null if it covers nothing. */
  rested(column: string, filter: Filter | null): void;
  removed(column: string): void;
  scaled(column: string, log: boolean): void;
}

/** Least and largest value: bins of whole numbers extend half a unit beyond them. */
function limits(bins: Bins): [number, number] {
  const whole = !bins.log && bins.high - bins.low === bins.bins && !Number.isInteger(bins.low);
  return whole ? [bins.low + 0.5, bins.high - 0.5] : [bins.low, bins.high];
}

/** Shows an end of a filter in its input, unless somebody is typing there. */
function write(end: HTMLInputElement, value: number | undefined): void {
  if (end === document.activeElement && end.value !== end.defaultValue) return;
  end.defaultValue = value === undefined ? "" : String(Number(value.toPrecision(5)));
  end.value = end.defaultValue;
}

export class Strip {
  readonly root: HTMLElement;
  bins: Bins | null = null;
  private all = new Map<Value, number>();
  private readonly bars = svg("path", { class: "bars" });
  private readonly ghost = svg("path", { class: "ghost" });
  private readonly overlay = svg("g", { class: "brush" });
  private readonly ends: [HTMLInputElement, HTMLInputElement];
  private readonly axis = el("div", { class: "axis" });
  private readonly brush = brushX<unknown>().extent([
    [0, 0],
    [WIDTH, HEIGHT],
  ]);
  private quiet = false;

  constructor(
    readonly column: string,
    readonly log: boolean,
    private readonly listener: Listener,
  ) {
    const area = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      class: "strip-area",
      role: "img",
    });
    area.setAttribute("aria-label", `histogram of ${column}; drag to filter, or write the ends below`);
    area.append(this.ghost, this.bars, this.overlay);
    const end = (name: string): HTMLInputElement =>
      el("input", {
        type: "text",
        inputmode: "decimal",
        placeholder: name,
        "aria-label": `${column} ${name}`,
        onchange: () => this.typed(),
      });
    this.ends = [end("from"), end("below")];
    this.root = el(
      "section",
      { class: "strip", "data-column": column },
      el(
        "header",
        {},
        el("h3", { title: column }, title(column)),
        tick("log", log, (on) => listener.scaled(column, on)),
        el(
          "button",
          {
            type: "button",
            class: "quiet",
            "aria-label": `remove ${column}`,
            onclick: () => listener.removed(column),
          },
          "×",
        ),
      ),
      area,
      this.axis,
      el("div", { class: "ends" }, ...this.ends),
    );
    this.brush
      .on("start", (event: D3BrushEvent<unknown>) => {
        if (event.sourceEvent) listener.begun(column);
      })
      .on("brush", (event: D3BrushEvent<unknown>) => this.dragged(event))
      .on("end", (event: D3BrushEvent<unknown>) => this.ended(event));
    select(this.overlay as SVGGElement).call(this.brush as never);
  }

  /** Discards the counts of all rows, because there are more rows now. */
  forget(): void {
    this.all = new Map();
  }

  /** Shows counts: of all rows at first, then of those that the other filters leave. */
  show(counts: Map<Value, number>, bins: Bins | null): void {
    this.bins = bins;
    if (!this.all.size) {
      this.all = counts;
      this.axis.replaceChildren(
        ...(bins ? limits(bins).map((value) => el("span", {}, told(value, this.column))) : ["no numbers"]),
      );
    }
    const most = Math.max(1, ...[...this.all].filter(([bin]) => bin !== null).map(([, n]) => n));
    this.ghost.setAttribute("d", this.path(this.all, most));
    this.bars.setAttribute("d", this.path(counts, most));
  }

  /** Moves the brush to a filter's range without notifying the listener. */
  place(filter: Filter | undefined): void {
    const [low, high] = [filter?.low, filter?.high];
    write(this.ends[0], low);
    write(this.ends[1], high);
    if (!this.bins) return;
    this.quiet = true;
    const at = (value: number | undefined, otherwise: number): number =>
      value === undefined
        ? otherwise
        : Math.min(1, Math.max(0, place(this.bins as Bins, value) / (this.bins as Bins).bins)) * WIDTH;
    const group = select(this.overlay as SVGGElement);
    if (low === undefined && high === undefined) group.call(this.brush.move as never, null);
    else group.call(this.brush.move as never, [at(low, 0), at(high, WIDTH)]);
    this.quiet = false;
  }

  private path(counts: Map<Value, number>, most: number): string {
    const bins = this.bins?.bins ?? 1;
    const wide = WIDTH / bins;
    let drawn = "";
    for (const [bin, n] of counts) {
      if (typeof bin !== "number" || n <= 0) continue;
      const high = Math.max(1, (n / most) * (HEIGHT - 4));
      drawn += `M${(bin * wide + 0.4).toFixed(2)},${HEIGHT}v${(-high).toFixed(2)}h${Math.max(0.6, wide - 0.8).toFixed(2)}v${high.toFixed(2)}z`;
    }
    return drawn;
  }

  /** Bins that a horizontal range of the drawing covers, the last exclusive. */
  private snapped(stretch: [number, number]): [number, number] {
    const bins = this.bins?.bins ?? 1;
    const from = Math.round((stretch[0] / WIDTH) * bins);
    return [
      Math.min(from, bins - 1),
      Math.max(Math.min(from, bins - 1) + 1, Math.round((stretch[1] / WIDTH) * bins)),
    ];
  }

  private dragged(event: D3BrushEvent<unknown>): void {
    if (this.quiet || !event.sourceEvent || !event.selection || !this.bins) return;
    const [from, to] = this.snapped(event.selection as [number, number]);
    this.listener.moved(this.column, range(this.column, this.bins, from, to), from, to);
  }

  private ended(event: D3BrushEvent<unknown>): void {
    if (this.quiet || !event.sourceEvent || !this.bins) return;
    const [from, to] = event.selection ? this.snapped(event.selection as [number, number]) : [0, 0];
    this.listener.rested(this.column, event.selection ? range(this.column, this.bins, from, to) : null);
  }

  private typed(): void {
    for (const one of this.ends) one.defaultValue = one.value;
    const filter: Filter = { column: this.column };
    const [low, high] = this.ends.map((one) => (one.value.trim() === "" ? NaN : Number(one.value)));
    if (low !== undefined && Number.isFinite(low)) filter.low = low;
    if (high !== undefined && Number.isFinite(high)) filter.high = high;
    this.listener.rested(this.column, filter.low === undefined && filter.high === undefined ? null : filter);
  }
}
