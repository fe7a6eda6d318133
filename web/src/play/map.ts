import { duration, quantity } from "../format";
import { layout, type Place } from "../view/layout";
import type { Link } from "../view/recording";
import { drags } from "./drag";
import { cut, isDrawn, joined, type NetworkNode, nodes, removed, type Wire, wires } from "./drawn";
import type { Lab } from "./lab";
import { type Doc, get, isTable, type Key } from "./toml";

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

/** Map of the network whose links can be selected; a network drawn by hand can be edited in it. */
export class NetworkMap {
  readonly element = svg("svg", { class: "map", role: "group", "aria-label": "Network" }) as SVGSVGElement;
  private links: Wire[] = [];
  private nodes: NetworkNode[] = [];
  private clients: string[] = [];
  private at = new Map<string, { x: number; y: number }>();
  private height = 0;
  /** Whether links are too short for full labels. */
  private crowded = false;

  /** `moved` is called when a node was moved. */
  constructor(
    private readonly lab: Lab,
    moved: () => void,
  ) {
    lab.onDocument(() => isDrawn(lab.doc) && this.take());
    lab.onResult(() => this.take());
    lab.onChoice(() => this.mark());
    drags(this.element, {
      place: (name) => (isDrawn(lab.doc) ? (this.at.get(name) ?? null) : null),
      chosen: (name) => lab.choose({ kind: "node", name }),
      joined: (from, to) => lab.replace(joined(lab.doc!, from, to)),
      moved: (name, to) => {
        const inside = (share: number) => Math.min(1, Math.max(0, share));
        this.lab.places.set(name, {
          x: inside((to.x - SIDE) / (WIDTH - 2 * SIDE)),
          y: inside((to.y - 6) / (this.height - 26)),
        });
        this.draw();
        this.label();
        moved();
      },
    });
  }

  /** Reads nodes and links: of a drawing from the document, of other networks from the last run's recording. */
  private take(): void {
    const { doc, result } = this.lab;
    const header = result?.run.recording.header;
    const before = JSON.stringify([this.links, this.nodes, this.clients]);
    if (doc && isDrawn(doc)) {
      this.links = wires(doc);
      this.nodes = nodes(doc);
      this.clients = this.lab.flows.flatMap(({ client }) => (client ? [String(client)] : []));
      if (!this.clients.length) this.clients = this.nodes.slice(0, 1).map(({ name }) => name);
    } else if (header) {
      this.links = header.links.filter(({ forward }) => forward).map(wireOf);
      const names = [...new Set(this.links.flatMap(({ from, to }) => [from, to]))];
      this.nodes = names.map((name) => ({ name, kind: /^R\d+$/.test(name) ? "router" : "host" }));
      this.clients = header.flows.map(({ client }) => String(client));
    }
    if (JSON.stringify([this.links, this.nodes, this.clients]) !== before) this.draw();
    this.label();
  }

  private draw(): void {
    const drawn = isDrawn(this.lab.doc);
    const hosts = this.clients.map((name) => name.replace(/\.\d+$/, ""));
    const linked = parkingLot(this.links) ?? layout(this.links, hosts);
    const alone = this.nodes.filter(({ name }) => !linked.some((place) => place.name === name));
    const places = [
      ...linked,
      ...alone.map(({ name }, nth) => ({ name, x: (nth + 1) / (alone.length + 1), y: 1 })),
    ].map((place) => ({ ...place, ...(drawn ? this.lab.places.get(place.name) : {}) }));
    this.crowded = new Set(places.map(({ x }) => x)).size > 4;
    const columns = new Map<number, number>();
    for (const { x } of places) columns.set(x, (columns.get(x) ?? 0) + 1);
    const rows = Math.max(2, ...columns.values()) + (alone.length ? 1 : 0);
    const pairs = new Map<string, number>();
    const parallel = Math.max(
      1,
      ...this.links.map(({ from, to }) => {
        const nth = (pairs.get(`${from} ${to}`) ?? 0) + 1;
        pairs.set(`${from} ${to}`, nth);
        return nth;
      }),
    );
    const height = Math.min(300, Math.max(rows, parallel * 1.15, drawn ? 4 : 0) * ROW + 40);
    this.height = height;
    this.element.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    this.at = new Map(
      places.map(({ name, x, y }) => [name, { x: SIDE + x * (WIDTH - 2 * SIDE), y: 6 + y * (height - 26) }]),
    );
    const seen = new Map<string, number>();
    const lines = this.links.flatMap((link) => {
      const [from, to] = [this.at.get(link.from), this.at.get(link.to)];
      if (!from || !to) return [];
      const name = `${link.from} ${link.to}`;
      const nth = seen.get(name) ?? 0;
      seen.set(name, nth + 1);
      const bend = (nth - (pairs.get(name)! - 1) / 2) * ROW * 2.2;
      return [this.line(link, from, to, bend)];
    });
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const label = focused?.getAttribute("aria-label");
    this.element.replaceChildren(...lines, ...this.nodes.map((node) => this.node(node, drawn)));
    this.mark();
    if (label) this.element.querySelector<SVGElement>(`[aria-label="${CSS.escape(label)}"]`)?.focus();
  }

  private node({ name, kind }: NetworkNode, drawn: boolean): SVGElement {
    const { x, y } = this.at.get(name)!;
    const mark =
      kind === "router"
        ? svg("rect", { x: x - 7, y: y - 7, width: 14, height: 14, rx: 3, class: "node" })
        : svg("circle", { cx: x, cy: y, r: 7, class: "node" });
    const text = svg("text", { x, y: y + 20, class: "name" }, name);
    if (!drawn) return svg("g", {}, mark, text);
    const label = `${kind === "router" ? "Router" : "Host"} ${name}`;
    const attributes = {
      class: "movable",
      tabindex: 0,
      role: "button",
      "aria-label": label,
      "data-node": name,
    };
    const made = svg("g", attributes, svg("circle", { cx: x, cy: y, r: 16, class: "reach" }), mark, text);
    this.keys(
      made,
      () => this.lab.choose({ kind: "node", name }),
      () => removed(this.lab.doc!, name),
    );
    return made;
  }

  /** Binds keys: Enter and Space select a part, Delete removes it from a drawing. */
  private keys(part: SVGElement, choose: () => void, without: () => Doc): void {
    part.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") choose();
      else if (event.key === "Delete" && isDrawn(this.lab.doc)) {
        this.lab.choose({ kind: "scenario" });
        this.lab.replace(without());
      } else return;
      event.preventDefault();
    });
  }

  private line(
    link: Wire,
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
    this.keys(made, choose, () => cut(this.lab.doc!, link.name));
    return made;
  }

  /** Labels the links with rate and delay, or only the rate if crowded; access links have no visible label. */
  private label(): void {
    for (const link of this.links) {
      const group = this.element.querySelector(`[data-link="${CSS.escape(link.name)}"]`);
      if (!group) continue;
      const { rate } = link;
      const facts = [rate, link.delay].filter(Boolean).join(" · ");
      const quiet = /^(left|right)\d+$|^[ab]$/.test(link.name);
      group.querySelector("text")!.textContent = quiet ? "" : this.crowded ? rate : facts;
      group.setAttribute("aria-label", `Link ${link.name}, ${facts}`);
    }
  }

  private mark(): void {
    const { chosen } = this.lab;
    for (const one of this.element.querySelectorAll(".movable")) {
      const is = chosen.kind === "node" && one.getAttribute("data-node") === chosen.name;
      one.setAttribute("aria-pressed", String(is));
    }
    for (const one of this.element.querySelectorAll(".link")) {
      const is = chosen.kind === "link" && one.getAttribute("data-link") === chosen.name;
      one.setAttribute("aria-pressed", String(is));
    }
  }
}

const wireOf = ({ name, from, to, rate_bps, delay_ns }: Link): Wire => ({
  name,
  from: String(from),
  to: String(to),
  rate: rate_bps ? quantity(rate_bps, "bit/s") : "varies",
  delay: delay_ns ? duration(delay_ns) : "",
});

/** Places of a parking lot: a chain of routers, with the pair of hosts of each hop below; null for other networks. */
function parkingLot(links: Pick<Wire, "name">[]): Place[] | null {
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

/** Key of the document's table that describes a link of the run; null if there is none. */
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
