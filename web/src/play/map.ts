import { duration, quantity } from "../format";
import { layout, type Place } from "../view/layout";
import type { Link } from "../view/recording";
import type { Lab } from "./lab";
import { get, isTable, type Key } from "./toml";

const SVG = "http://www.w3.org/2000/svg";

function svg(
  tag: string,
  attributes: Record<string, string | number>,
  ...children: (Node | string)[]
): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

const WIDTH = 420;
const ROW = 44;
const SIDE = 34;

/** The network as a drawing whose links can be chosen. */
export class NetworkMap {
  readonly element = svg("svg", { class: "map", role: "group", "aria-label": "Network" });
  private links: Link[] = [];
  private clients: string[] = [];
  /** Links are too short for all that is to be said of them. */
  private crowded = false;

  constructor(private readonly lab: Lab) {
    lab.onResult(() => this.take());
    lab.onChoice(() => this.mark());
  }

  /** The run tells what its network was: names, ends, rates and delays of links. */
  private take(): void {
    const header = this.lab.result?.run.recording.header;
    if (!header) return;
    const links = header.links.filter(({ forward }) => forward);
    const clients = header.flows.map(({ client }) => String(client));
    const before = JSON.stringify([this.links, this.clients]);
    if (JSON.stringify([links, clients]) !== before) {
      this.links = links;
      this.clients = clients;
      this.draw();
    }
    this.label();
  }

  private draw(): void {
    const hosts = this.clients.map((name) => name.replace(/\.\d+$/, ""));
    const places = parkingLot(this.links) ?? layout(this.links, hosts);
    this.crowded = new Set(places.map(({ x }) => x)).size > 4;
    const columns = new Map<number, number>();
    for (const { x } of places) columns.set(x, (columns.get(x) ?? 0) + 1);
    const rows = Math.max(2, ...columns.values());
    const pairs = new Map<string, number>();
    const parallel = Math.max(
      1,
      ...this.links.map(({ from, to }) => {
        const nth = (pairs.get(`${from} ${to}`) ?? 0) + 1;
        pairs.set(`${from} ${to}`, nth);
        return nth;
      }),
    );
    const height = Math.min(300, Math.max(rows, parallel * 1.15) * ROW + 40);
    this.element.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    const at = new Map(
      places.map(({ name, x, y }) => [name, { x: SIDE + x * (WIDTH - 2 * SIDE), y: 6 + y * (height - 26) }]),
    );
    const seen = new Map<string, number>();
    const lines = this.links.map((link) => {
      const name = `${link.from} ${link.to}`;
      const nth = seen.get(name) ?? 0;
      seen.set(name, nth + 1);
      const bend = (nth - (pairs.get(name)! - 1) / 2) * ROW * 2.2;
      return this.line(link, at.get(link.from)!, at.get(link.to)!, bend);
    });
    const nodes = places.map(({ name }) => {
      const { x, y } = at.get(name)!;
      const router = /^R\d+$/.test(name);
      const mark = router
        ? svg("rect", { x: x - 7, y: y - 7, width: 14, height: 14, rx: 3, class: "node" })
        : svg("circle", { cx: x, cy: y, r: 7, class: "node" });
      return svg("g", {}, mark, svg("text", { x, y: y + 20, class: "name" }, name));
    });
    this.element.replaceChildren(...lines, ...nodes);
    this.mark();
  }

  private line(
    link: Link,
    a: { x: number; y: number },
    b: { x: number; y: number },
    bend: number,
  ): SVGElement {
    const [mx, my] = [(a.x + b.x) / 2, (a.y + b.y) / 2 + bend];
    const path = `M${a.x} ${a.y}Q${mx} ${my} ${b.x} ${b.y}`;
    const middle = { x: (a.x + b.x) / 4 + mx / 2, y: (a.y + b.y) / 4 + my / 2 };
    const named = svg("text", { class: "facts", x: middle.x, y: middle.y - 6 });
    const made = svg(
      "g",
      { class: "link", tabindex: 0, role: "button", "data-link": link.name },
      svg("path", { d: path, class: "reach" }),
      svg("path", { d: path, class: "wire" }),
      named,
    );
    const choose = () => {
      const key = linkKey(this.lab, link.name);
      if (key) this.lab.choose({ kind: "link", key, name: link.name });
    };
    made.addEventListener("click", choose);
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
    return made;
  }

  /** What a link says of itself. Access links say it only when there is room. */
  private label(): void {
    for (const link of this.links) {
      const group = this.element.querySelector(`[data-link="${CSS.escape(link.name)}"]`);
      if (!group) continue;
      const rate = link.rate_bps ? quantity(link.rate_bps, "bit/s").replace("bit/s", "b/s") : "varies";
      const facts = [rate, link.delay_ns ? duration(link.delay_ns) : ""].filter(Boolean).join(" · ");
      const quiet = /^(left|right)\d+$|^[ab]$/.test(link.name);
      group.querySelector("text")!.textContent = quiet ? "" : this.crowded ? rate : facts;
      group.setAttribute("aria-label", `Link ${link.name}, ${facts}`);
    }
  }

  private mark(): void {
    const { chosen } = this.lab;
    for (const one of this.element.querySelectorAll(".link")) {
      const is = chosen.kind === "link" && one.getAttribute("data-link") === chosen.name;
      one.setAttribute("aria-pressed", String(is));
    }
  }
}

/** A parking lot as a chain of routers, the pairs of its hops below; null for other networks. */
function parkingLot(links: Link[]): Place[] | null {
  const hops = links.filter(({ name }) => /^bottleneck\d+$/.test(name)).length;
  if (!hops) return null;
  const step = 1 / (hops + 2);
  const at = (name: string, x: number, y: number): Place => ({ name, x: x * step, y });
  const routers = Array.from({ length: hops + 1 }, (_, nth) => at(`R${nth + 1}`, nth + 1, 0.3));
  const pairs = Array.from({ length: hops }, (_, nth) => [
    at(`left${nth + 1}`, nth + 1.25, 0.85),
    at(`right${nth + 1}`, nth + 1.75, 0.85),
  ]);
  return [at("a", 0, 0.3), ...routers, at("b", hops + 2, 0.3), ...pairs.flat()];
}

/** The table of the document that describes a link of the run; null where there is none. */
export function linkKey(lab: Lab, name: string): Key | null {
  const { doc } = lab;
  const network = doc && get(doc, ["network"]);
  if (!isTable(network)) return null;
  const nth = Number(/\d+$/.exec(name)?.[0] ?? 1) - 1;
  const inList = (key: string): Key =>
    Array.isArray(network[key]) ? ["network", key, nth] : ["network", key];
  switch (network.topology) {
    case "point-to-point":
      return ["network", "link"];
    case "path":
      return inList("link");
    case "multipath":
      return inList("path");
    case "dumbbell":
    case "parking-lot":
      return name.startsWith("bottleneck") ? ["network", "bottleneck"] : inList("access");
    default: {
      const links = network.link;
      if (!Array.isArray(links)) return null;
      const at = links.findIndex((one) => isTable(one) && (one.name ?? `${one.from}-${one.to}`) === name);
      return at < 0 ? null : ["network", "link", at];
    }
  }
}
