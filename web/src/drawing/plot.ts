import uPlot from "uplot";
import { button, el } from "../dom";
import { moments, ticks } from "../format";
import { exportPng, exportSvg } from "./export";
import { type View, view } from "./lod";
import type { Drawn, Panel, Stage } from "./panel";
import { CanvasPen, FONT, type Pen } from "./pen";
import { gestures, scaleGestures } from "./pointer";
import { Vertical } from "./vertical";

export const GUTTER = { wide: 76, narrow: 66 };

/** Width of a character of text over a drawing, in pixels. */
const LETTER = 5.8;

/** Height of a drawing below which words of all panels are left out, in pixels. */
const LOW = 80;

/** Height of a row's name, in pixels. */
const NAME = 13;

/** A panel on the screen: uPlot makes axes, grid and canvas, the panel paints between them. */
export class Plot implements Drawn {
  readonly element: HTMLElement;
  private readonly stage = el("div", { class: "stage" });
  private readonly legend = el("div", { class: "legend" });
  private readonly cursor = el("div", { class: "cursor", "aria-hidden": "true" });
  private readonly values: [HTMLElement, (moment: number) => string][] = [];
  private plot: uPlot | null = null;
  private visible = true;
  private stale = false;
  private scale = el("div");
  readonly vertical = new Vertical(() => this.draw());
  private readonly fit: HTMLButtonElement;

  constructor(
    readonly panel: Panel,
    private readonly model: Stage,
  ) {
    const heading = el("h2", {}, panel.title);
    this.fit = button("Fit", `Show all of ${panel.title} vertically (f)`, () => this.vertical.fit());
    this.fit.hidden = true;
    const tools = el(
      "div",
      { class: "tools" },
      this.fit,
      button("PNG", `Save ${panel.title} as PNG`, () => exportPng(this)),
      button("SVG", `Save ${panel.title} as SVG`, () => exportSvg(this)),
    );
    this.element = el("section", {
      class: "panel",
      id: `panel-${panel.id}`,
      "aria-label": panel.title,
      // Keys that zoom vertically act on the panel that has the focus.
      tabindex: 0,
    });
    this.element.append(el("header", {}, heading, this.legend, tools), this.stage);
    new IntersectionObserver(
      (entries) => {
        this.visible = entries.at(-1)!.isIntersecting;
        if (this.visible && this.stale) this.draw();
      },
      { rootMargin: "200px" },
    ).observe(this.element);
    model.axis.onMove(() => this.draw());
    model.axis.onPoint(() => this.point());
  }

  /** Rebuilds the plot after a change of its size or the theme. */
  build(): void {
    this.plot?.destroy();
    const { theme } = this.model;
    const width = Math.max(200, this.stage.clientWidth);
    const narrow = width < 600;
    const axis = {
      stroke: theme.soft,
      font: `11px ${FONT}`,
      grid: { stroke: theme.grid, width: 1 },
      ticks: { stroke: theme.tick, width: 1, size: 4 },
      gap: 4,
    };
    const { rows } = this.panel;
    const options: uPlot.Options = {
      width,
      height: this.panel.height,
      padding: [8, 22, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, auto: false, range: () => [this.model.axis.lo, this.model.axis.hi] },
        y: { range: () => this.vertical.range },
      },
      axes: [
        { ...axis, size: 26, space: narrow ? 76 : 110, values: (_, splits) => moments(splits) },
        {
          ...axis,
          size: narrow ? GUTTER.narrow : GUTTER.wide,
          space: 34,
          ...(rows ? { splits: () => this.lanes(rows().length) } : {}),
          values: (_, splits) => {
            const names = rows?.();
            return names ? splits.map((at) => names[-at] ?? "") : ticks(splits, this.panel.unit);
          },
        },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => this.paint(plot)] },
    };
    this.refit();
    const whole: uPlot.AlignedData = [
      [this.model.axis.start, this.model.axis.end],
      [0, 0],
    ];
    this.plot = new uPlot(options, whole, this.stage);
    const canvas = this.plot.ctx.canvas;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${this.panel.title}: ${this.panel.about}`);
    this.plot.over.append(this.cursor);
    const { over } = this.plot;
    this.scale = el("div", { class: "scale", title: "Drag to zoom, double click to show all" });
    over.parentElement!.append(this.scale);
    gestures(over, this.model.axis, this.vertical, (x, y) => this.panel.click?.(this.shown(), x, y));
    scaleGestures(this.scale, over, this.vertical);
    this.relabel();
    this.draw();
    this.point();
  }

  /** Rebuilds the legend, for another flow, path or theme. */
  relabel(): void {
    this.values.length = 0;
    const entries = this.panel.keys().map((key) => {
      const swatch = el("i", { class: `swatch ${key.shape ?? "line"}` });
      swatch.style.setProperty("--colour", key.colour);
      if (key.dash?.length) swatch.classList.add("dashed");
      const entry = el("span", { class: "key" }, swatch, key.label);
      if (key.at) {
        const value = el("b");
        this.values.push([value, key.at]);
        entry.append(value);
      }
      return entry;
    });
    this.legend.replaceChildren(...entries);
    this.point();
  }

  resize(): void {
    const width = Math.max(200, this.stage.clientWidth);
    if (this.plot && (width !== this.plot.width || this.panel.height !== this.plot.height)) this.build();
  }

  draw(): void {
    if (!this.visible || !this.plot) {
      this.stale = true;
      return;
    }
    this.stale = false;
    this.refit();
    const { lo, hi } = this.model.axis;
    const [bottom, top] = this.vertical.range;
    this.fit.hidden = !this.vertical.isChosen;
    const { plot } = this;
    plot.batch(() => {
      plot.setScale("x", { min: lo, max: hi });
      plot.setScale("y", { min: bottom, max: top });
    });
  }

  /** Whether its element matches a selector, such as `:hover`. */
  isMeant(state: string): boolean {
    return this.element.matches(state);
  }

  get isInView(): boolean {
    const { top, bottom } = this.element.getBoundingClientRect();
    return bottom > 60 && top < innerHeight - 60;
  }

  /** Visible ranges of time and values, and where they lie on the canvas. */
  shown(box?: View["box"], range = this.vertical.range): View {
    const { lo, hi } = this.model.axis;
    const [bottom, top] = range;
    return view(lo, hi, bottom, top, box ?? this.box());
  }

  /** Box of the drawing within the panel, in CSS pixels. */
  box(): View["box"] {
    return boxOf(this.plot!);
  }

  get canvas(): HTMLCanvasElement {
    return this.plot!.ctx.canvas;
  }

  get theme() {
    return this.model.theme;
  }

  /** Positions and labels of the visible ticks, for a file that draws the axes itself. */
  ticks(): { x: [number, string][]; y: [number, string][] } {
    const read = (axis: number) => {
      const { _splits, _values } = this.plot!.axes[axis] as unknown as {
        _splits: number[];
        _values: string[];
      };
      return (_splits ?? []).map((at, index): [number, string] => [at, String(_values[index] ?? "")]);
    };
    return { x: read(0), y: read(1) };
  }

  /** Paints the panel, with the marks that all panels share. */
  compose(pen: Pen, shown: View): void {
    if (this.panel.ofPackets) this.shade(pen, shown);
    this.panel.paint(pen, shown);
    const { difference, theme } = this.model;
    if (!difference || difference.time < shown.lo || difference.time > shown.hi) return;
    const x = shown.x(difference.time);
    const { left, top, width, height } = shown.box;
    pen.segments(theme.ink, 1, [x, top, x, top + height], 0.7, [1, 3]);
    // The words would hide most of a low panel.
    if (height < LOW) return;
    const fits = x < left + width - 90;
    pen.text(theme.ink, fits ? x + 5 : x - 5, top + 9, "first difference", fits ? "left" : "right");
  }

  /** Shades where a run's packets were not kept: nothing is drawn there, though the run went on. */
  private shade(pen: Pen, shown: View): void {
    const { runs, theme } = this.model;
    const { left, top, width, height } = shown.box;
    const cut = runs.filter((run) => run.isCut && run.known < shown.hi);
    for (const [nth, run] of cut.entries()) {
      const x = Math.max(left, shown.x(run.known));
      const room = left + width - x;
      pen.rects(theme.soft, [x, top, room, height], 0.12);
      if (x > left) pen.segments(theme.soft, 1, [x, top, x, top + height], 0.9, [4, 3]);
      const whose = runs.length > 1 ? `${run.name}: ` : "";
      const words = [`${whose}no packets were kept from here on`, `${whose}not kept`].find(
        (one) => one.length * LETTER + 10 < room,
      );
      if (words) pen.text(theme.soft, x + 5, top + height - 9 - 13 * nth, words);
    }
  }

  /** Fits the vertical range to the visible time range, which a panel out of view has not done yet. */
  refit(): void {
    const { lo, hi } = this.model.axis;
    const width = this.plot ? this.box().width : this.stage.clientWidth;
    const fitted = this.panel.fit(lo, hi, width);
    if (!fitted) return;
    const [least, greatest] = fitted;
    const room = (greatest - least) * 0.06 || Math.abs(greatest) * 0.1 || 1;
    this.vertical.suits(
      this.panel.rows ? [least, greatest] : [least === 0 ? 0 : least - room, greatest + room],
    );
  }

  /** Positions of the rows whose names fit below each other. */
  private lanes(count: number): number[] {
    const [bottom, top] = this.vertical.range;
    const height = this.plot ? this.box().height : this.panel.height;
    const step = Math.ceil(((top - bottom) * NAME) / height);
    const places = Array.from({ length: Math.ceil(count / step) }, (_, nth) => (nth ? -nth * step : 0));
    return places.filter((at) => at >= bottom && at <= top);
  }

  private paint(plot: uPlot): void {
    const { ctx } = plot;
    const ratio = devicePixelRatio;
    const { left, top, width, height } = plot.bbox;
    const box = boxOf(plot);
    this.scale.style.cssText = `top: ${box.top}px; width: ${box.left}px; height: ${box.height}px`;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.scale(ratio, ratio);
    this.compose(new CanvasPen(ctx), this.shown(box));
    ctx.restore();
  }

  private point(): void {
    if (!this.plot || !this.visible) return;
    const { lo, hi, cursor } = this.model.axis;
    const within = cursor >= lo && cursor <= hi;
    this.cursor.hidden = !within;
    if (within) {
      this.cursor.style.transform = `translateX(${((cursor - lo) / (hi - lo)) * this.plot.over.clientWidth}px)`;
    }
    for (const [element, at] of this.values) {
      const text = at(cursor);
      if (element.textContent !== text) element.textContent = text;
    }
  }
}

function boxOf(plot: uPlot): View["box"] {
  const { left, top, width, height } = plot.bbox;
  const ratio = devicePixelRatio;
  return { left: left / ratio, top: top / ratio, width: width / ratio, height: height / ratio };
}
