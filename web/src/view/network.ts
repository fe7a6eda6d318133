import { button, el } from "../dom";
import { savePng, saveSvg } from "../drawing/export";
import { CanvasPen, crosses, type Pen, SvgPen } from "../drawing/pen";
import { fractions, type Place } from "../drawing/places";
import { moment, quantity } from "../format";
import type { Model } from "./model";
import { Fate, Kind } from "./recording";
import { held, type Run } from "./run";

const TITLE = "Network";
/** Height of the first row of nodes, and of each further row, in pixels. */
const ROW = { first: 104, more: 72 };

/** Maximum number of packets that are drawn: the latest in transit. */
const MOST = 6000;

/** Distance of each direction of a link from its centre line, in pixels. */
const APART = 5;

/** Time that a drop stays visible, as a fraction of the longest transit time. */
const FADING = 0.4;

interface Ends {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** The network at the cursor's time, with the packets on its links and in its queues. */
export class NetworkPanel {
  readonly element = el("section", { class: "panel", id: "panel-network", "aria-label": TITLE });
  private readonly canvas = el("canvas", {
    role: "img",
    "aria-label": "Network: packets on the links at the cursor’s time",
  });
  private readonly stage = el("div", { class: "stage" }, this.canvas);
  private readonly clock = el("span", { class: "clock" });
  private places: Place[] = [];
  private height = ROW.first;

  constructor(private readonly model: Model) {
    const tools = el(
      "div",
      { class: "tools" },
      button("PNG", `Save ${TITLE} as PNG`, () => savePng(this.canvas, model.theme.paper, TITLE)),
      button("SVG", `Save ${TITLE} as SVG`, () => this.saveSvg()),
    );
    const legend = el("div", { class: "legend" }, this.clock);
    this.element.append(el("header", {}, el("h2", {}, TITLE), legend, tools), this.stage);
    model.axis.onPoint(() => this.draw());
  }

  build(): void {
    const { places, rows } = fractions(this.run.recording.header.nodes);
    this.places = places;
    this.height = ROW.first + ROW.more * (rows - 1);
    this.resize();
  }

  resize(): void {
    const ratio = devicePixelRatio;
    this.canvas.width = Math.max(200, this.stage.clientWidth) * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.height = `${this.height}px`;
    this.draw();
  }

  draw(): void {
    const context = this.canvas.getContext("2d")!;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.paint(new CanvasPen(context), this.canvas.width / ratio);
    const { cursor } = this.model.axis;
    const isKnown = cursor <= this.run.known;
    this.clock.textContent = isKnown ? moment(cursor) : `${moment(cursor)}: no packets were kept`;
  }

  private get run(): Run {
    return this.model.runs[this.model.lead]!;
  }

  private saveSvg(): void {
    const width = this.canvas.width / devicePixelRatio;
    const pen = new SvgPen(width, this.height, this.model.theme.paper);
    this.paint(pen, width);
    saveSvg(pen, TITLE);
  }

  private ends(width: number): Ends[] {
    const side = Math.min(90, width * 0.12);
    const at = new Map(
      this.places.map(({ name, x, y }) => [
        name,
        { x: side + x * (width - 2 * side), y: 12 + y * (this.height - 34) },
      ]),
    );
    return this.run.recording.header.links.map(({ from, to }) => {
      const [a, b] = [at.get(String(from))!, at.get(String(to))!];
      const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const [dx, dy] = [((b.x - a.x) / length) * 9, ((b.y - a.y) / length) * 9];
      const [ox, oy] = [(-dy / 9) * APART, (dx / 9) * APART];
      return { x1: a.x + dx + ox, y1: a.y + dy + oy, x2: b.x - dx + ox, y2: b.y - dy + oy };
    });
  }

  private paint(pen: Pen, width: number): void {
    const { theme } = this.model;
    const ends = this.ends(width);
    pen.segments(
      theme.tick,
      1,
      ends.flatMap(({ x1, y1, x2, y2 }) => [x1, y1, x2, y2]),
    );
    this.queues(pen, ends);
    this.packets(pen, ends);
    const side = Math.min(90, width * 0.12);
    for (const { name, x, y } of this.places) {
      const [cx, cy] = [side + x * (width - 2 * side), 12 + y * (this.height - 34)];
      pen.dots(theme.ink, 6, [cx, cy]);
      pen.dots(theme.paper, 4, [cx, cy]);
      pen.text(theme.ink, cx, cy + 22, name, "center", 12);
    }
  }

  /** Draws a bar at the start of each link: the length of its queue, relative to its maximum. */
  private queues(pen: Pen, ends: Ends[]): void {
    const { theme, axis } = this.model;
    for (const series of this.run.series("queue", null)) {
      const end = series.link === null ? undefined : ends[series.link];
      const pyramid = this.run.pyramid(series);
      if (!end || !pyramid.range(0, pyramid.length) || pyramid.max <= 0) continue;
      const bytes = held(series.time, series.value, axis.cursor);
      if (!(bytes > 0)) continue;
      const length = Math.hypot(end.x2 - end.x1, end.y2 - end.y1);
      const share = Math.min(0.25, 60 / length) * (bytes / pyramid.max);
      const [dx, dy] = [end.x2 - end.x1, end.y2 - end.y1];
      pen.segments(theme.lines[4]!, 5, [end.x1, end.y1, end.x1 + dx * share, end.y1 + dy * share], 0.55);
      const outwards = end.x2 >= end.x1 ? 1 : -1;
      pen.text(
        theme.soft,
        end.x1 + 30 * outwards,
        end.y1 + 12 * outwards,
        quantity(bytes, "B"),
        outwards > 0 ? "left" : "right",
        10,
      );
    }
  }

  private packets(pen: Pen, ends: Ends[]): void {
    const { theme, axis, selected } = this.model;
    const { packets, header } = this.run.recording;
    const now = axis.cursor;
    const { journeys } = this.run;
    const fading = journeys.longest * FADING;
    const [start, end] = journeys.underWay(now - fading, now);
    const dots = { data: [] as number[], again: [] as number[], ack: [] as number[] };
    const lost: number[] = [];
    for (let packet = Math.max(start, end - MOST); packet < end; packet++) {
      const gone = packets.gone[packet]!;
      const failed = packets.fate[packet]! >= Fate.dropped;
      // Of two captures nobody knows where between them.
      if (this.run.observed && Number.isNaN(gone)) continue;
      if (gone <= now && !(failed && now - gone < fading)) continue;
      const at = this.position(packet, ends, now);
      if (!at) continue;
      if (gone <= now) {
        lost.push(at.x, at.y + 22 * ((now - gone) / fading));
        continue;
      }
      const sender = header.flows[packets.flow[packet]!]?.sender ?? 0;
      const again = packets.kind[packet]! & Kind.retransmission;
      dots[again ? "again" : packets.side[packet] === sender ? "data" : "ack"].push(at.x, at.y);
      if (selected && selected.run === this.model.lead && selected.packet === packet) {
        pen.dots(theme.ink, 7, [at.x, at.y], 0.35);
      }
    }
    pen.dots(theme.ack, 2.5, dots.ack);
    pen.dots(theme.data[0]!, 3.5, dots.data);
    pen.dots(theme.again[0]!, 4.5, dots.again);
    pen.segments(theme.drop, 2, crosses(lost, 4.5));
  }

  private position(packet: number, ends: Ends[], now: number): { x: number; y: number } | null {
    const { hops, packets } = this.run.recording;
    const { journeys } = this.run;
    const crossed = journeys.crossed(packet);
    let came = packets.time[packet]!;
    for (let nth = 0; nth < crossed; nth++) {
      const hop = journeys.at(packet, nth);
      const arrived = hops.time[hop]!;
      if (arrived < now) {
        came = arrived;
        continue;
      }
      const link = hops.link[hop]!;
      // A packet leaves its queue one transit time before it arrives.
      const leaves = Math.max(came, arrived - journeys.transit(link, packets.size[packet]!));
      return along(ends[link], now <= leaves ? 0 : (now - leaves) / (arrived - leaves || 1));
    }
    const fate = packets.fate[packet];
    return fate === Fate.arrived
      ? null
      : along(ends[packets.link[packet]!], fate === Fate.dropped ? 0.03 : 0.5);
  }
}

function along(ends: Ends | undefined, share: number): { x: number; y: number } | null {
  return ends ? { x: ends.x1 + (ends.x2 - ends.x1) * share, y: ends.y1 + (ends.y2 - ends.y1) * share } : null;
}
