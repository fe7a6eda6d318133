import type { View } from "../../drawing/lod";
import type { Key, Panel } from "../../drawing/panel";
import { crosses, type Pen } from "../../drawing/pen";
import { integer } from "../../format";
import { type Model, overlaid, runColour, runWidth } from "../model";
import { Fate, Kind } from "../recording";
import type { Run } from "../run";

/** Packets per pixel above which their density is drawn instead. */
const DENSE = 0.7;

/** Number of packets above which the density itself is sampled from every nth packet. */
const SAMPLED = 30_000;

const REACH = 10;

/** Space-time diagram: nodes are rows, the client's on top, and packets are lines from row to row. */
export class SpaceTimePanel implements Panel {
  readonly id = "spacetime";
  readonly title = "Space-time diagram";
  readonly about = "packets as slanted lines between the nodes of their path, with the wait in each queue";
  readonly height = 300;
  readonly unit = "";
  readonly ofPackets = true;
  private readonly orders = new Map<string, string[]>();

  constructor(private readonly model: Model) {}

  rows = (): string[] => this.nodes();

  keys(): Key[] {
    const { theme, runs } = this.model;
    const lost: Key = { label: "lost", colour: theme.drop, shape: "cross" };
    if (overlaid(this.model)) {
      const names = runs.map(({ name }, run): Key => ({ label: name, colour: runColour(this.model, run) }));
      return [...names, { label: "acknowledgement", colour: theme.soft, dash: [3, 2] }, lost];
    }
    return [
      { label: "data", colour: theme.data[0]!, shape: "line" },
      { label: "retransmission", colour: theme.again[0]!, shape: "line" },
      { label: "acknowledgement", colour: theme.ack, shape: "line" },
      lost,
    ];
  }

  fit(): [number, number] {
    return [0.6 - this.nodes().length, 0.4];
  }

  paint(pen: Pen, shown: View): void {
    const { theme, runs } = this.model;
    const { left, width } = shown.box;
    const rows = this.nodes().flatMap((_, row) => [left, shown.y(-row), left + width, shown.y(-row)]);
    pen.segments(theme.tick, 1, rows);
    runs.forEach((run, nth) => {
      const packets = this.visible(run, shown);
      if (packets === null) this.density(pen, run, shown);
      else this.packets(pen, run, packets, shown, nth);
    });
  }

  click(shown: View, x: number, y: number): void {
    const at = { x: x + shown.box.left, y: y + shown.box.top };
    let best = REACH;
    let found: { run: number; packet: number } | null = null;
    this.model.runs.forEach((run, nth) => {
      for (const packet of this.visible(run, shown) ?? []) {
        const points = this.way(run, packet, shown);
        for (let index = 2; index < points.length; index += 2) {
          const distance = toSegment(at, points, index);
          if (distance >= best) continue;
          best = distance;
          found = { run: nth, packet };
        }
      }
    });
    this.model.select(found);
  }

  /** Nodes in order from the client's end, merged from the ways of arrived packets of each path and direction. */
  private nodes(): string[] {
    const { runs, flow, path } = this.model;
    const key = `${flow} ${path}`;
    const known = this.orders.get(key);
    if (known) return known;
    const nodes: string[] = [];
    for (const run of runs) {
      const { packets, hops, header } = run.recording;
      const seen = new Set<number>();
      for (let packet = 0; packet < packets.count && seen.size < 64; packet++) {
        const way = packets.path[packet]! * 2 + packets.side[packet]!;
        if (packets.flow[packet] !== flow || packets.fate[packet] !== Fate.arrived || seen.has(way)) continue;
        if (path >= 0 && packets.path[packet] !== path) continue;
        seen.add(way);
        const passed: string[] = [];
        for (let hop = 0; hop < run.journeys.crossed(packet); hop++) {
          const { from, to } = header.links[hops.link[run.journeys.at(packet, hop)]!]!;
          if (hop === 0) passed.push(String(from));
          passed.push(String(to));
        }
        merge(nodes, packets.side[packet] === 0 ? passed : passed.reverse());
        if (packet > 100_000) break;
      }
    }
    if (nodes.length) this.orders.set(key, nodes);
    return nodes.length ? nodes : ["–"];
  }

  /** Packets of the flow in transit within the view; null if there are too many. */
  private visible(run: Run, { lo, hi, box }: View): number[] | null {
    const { packets } = run.recording;
    const [first, end] = run.journeys.underWay(lo, hi);
    const found: number[] = [];
    if (end - first > SAMPLED) return null;
    for (let packet = first; packet < end; packet++) {
      if (!this.isOf(run, packet) || packets.gone[packet]! < lo) continue;
      found.push(packet);
      if (found.length > (DENSE * box.width) / this.model.runs.length) return null;
    }
    return found;
  }

  private isOf(run: Run, packet: number): boolean {
    const { flow, path } = run.recording.packets;
    return flow[packet] === this.model.flow && (this.model.path < 0 || path[packet] === this.model.path);
  }

  private packets(pen: Pen, run: Run, list: number[], shown: View, nth: number): void {
    const { packets, header } = run.recording;
    const { theme, selected } = this.model;
    const sender = header.flows[this.model.flow]?.sender ?? 0;
    const lines = { data: [] as number[], again: [] as number[], ack: [] as number[] };
    const lost: number[] = [];
    for (const packet of list) {
      const kind = packets.kind[packet]!;
      const which = kind & Kind.retransmission ? "again" : packets.side[packet] === sender ? "data" : "ack";
      const points = this.way(run, packet, shown);
      lines[which].push(...points, Number.NaN, Number.NaN);
      if (packets.fate[packet]! >= Fate.dropped) lost.push(...points.slice(-2));
    }
    const runs = overlaid(this.model) ? runColour(this.model, nth) : null;
    const width = (list.length > 400 ? 0.5 : 0.75) * runWidth(this.model, nth);
    pen.line(runs ?? theme.ack, width, lines.ack, runs ? [3, 2] : []);
    pen.line(runs ?? theme.data[0]!, width, lines.data);
    pen.line(runs ?? theme.again[0]!, width + 0.5, lines.again);
    pen.segments(theme.drop, 1.75, crosses(lost, 4));
    if (selected && this.model.runs[selected.run] === run && this.isOf(run, selected.packet)) {
      pen.line(theme.ink, 3, this.way(run, selected.packet, shown));
    }
  }

  /** Points of a packet's way: along a node's row while it waits there, then slanting to the next node. */
  private way(run: Run, packet: number, shown: View): number[] {
    const nodes = this.nodes();
    const { packets } = run.recording;
    const points: number[] = [];
    for (const leg of run.journeys.legs(packet)) {
      const from = shown.y(-nodes.indexOf(String(leg.from)));
      const to = shown.y(-nodes.indexOf(String(leg.to)));
      points.push(shown.x(leg.came), from);
      if (Number.isNaN(leg.arrived)) {
        const gone = packets.gone[packet]!;
        const share = packets.fate[packet] === Fate.dropped || Number.isNaN(gone) ? 0.12 : 0.5;
        points.push(shown.x(Number.isNaN(gone) ? leg.came : gone), from + (to - from) * share);
      } else points.push(shown.x(leg.came + (leg.wait || 0)), from, shown.x(leg.arrived), to);
    }
    return points;
  }

  private density(pen: Pen, run: Run, shown: View): void {
    const { theme } = this.model;
    const { left, top, width, height } = shown.box;
    const { time } = run.recording.packets;
    const columns = new Float64Array(Math.ceil(width / 3));
    const [first, end] = run.journeys.underWay(shown.lo, shown.hi);
    const stride = Math.max(1, Math.ceil((end - first) / SAMPLED));
    let all = 0;
    for (let packet = first; packet < end; packet += stride) {
      if (!this.isOf(run, packet) || time[packet]! < shown.lo) continue;
      columns[Math.floor((shown.x(time[packet]!) - left) / 3)]!++;
      all++;
    }
    const most = columns.reduce((a, b) => Math.max(a, b), 1);
    const low = shown.y(1 - this.nodes().length);
    const high = shown.y(0);
    columns.forEach((count, column) => {
      if (count)
        pen.rects(theme.data[0]!, [left + column * 3, high, 3, low - high], 0.04 + (0.3 * count) / most);
    });
    const text = `About ${integer(all * stride)} packets: zoom in to see each of them`;
    pen.rects(
      theme.paper,
      [left + width / 2 - text.length * 3.4, top + height / 2 - 12, text.length * 6.8, 24],
      0.92,
    );
    pen.text(theme.ink, left + width / 2, top + height / 2, text, "center", 12);
  }
}

/** Merges the nodes of one way into a list, in an order that suits all ways. */
function merge(nodes: string[], passed: string[]): void {
  let place = 0;
  for (const node of passed) {
    const known = nodes.indexOf(node);
    if (known >= 0) place = known + 1;
    else nodes.splice(place++, 0, node);
  }
}

function toSegment(at: { x: number; y: number }, points: number[], end: number): number {
  const [x1, y1, x2, y2] = [points[end - 2]!, points[end - 1]!, points[end]!, points[end + 1]!];
  const [dx, dy] = [x2 - x1, y2 - y1];
  const share = Math.min(1, Math.max(0, ((at.x - x1) * dx + (at.y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(at.x - x1 - share * dx, at.y - y1 - share * dy);
}
