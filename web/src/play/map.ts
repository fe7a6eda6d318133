import { fractions } from "../drawing/places";
import { duration, quantity } from "../format";
import type { Link, NetworkNode } from "../view/recording";
import { drags } from "./drag";
import { cut, isDrawn, joined, type Named, nodes, removed, type Wire, wires } from "./drawn";
import type { Lab } from "./lab";
import { type Doc, get, type Key } from "./toml";

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
  private nodes: Named[] = [];
  /** Nodes of the last run, with their places. */
  private known: NetworkNode[] = [];
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
    const before = JSON.stringify([this.links, this.nodes, this.known]);
    if (header) this.known = header.nodes;
    if (doc && isDrawn(doc)) {
      this.links = wires(doc);
      this.nodes = nodes(doc);
    } else if (header) {
      this.links = header.links.filter(({ forward }) => forward).map(wireOf);
      this.nodes = header.nodes;
    }
    if (JSON.stringify([this.links, this.nodes, this.known]) !== before) this.draw();
    this.label();
  }

  private draw(): void {
    const drawn = isDrawn(this.lab.doc);
    const ends = new Set(this.links.flatMap(({ from, to }) => [from, to]));
    const linked = this.known.filter(
      ({ name }) => ends.has(name) && this.nodes.some((node) => node.name === name),
    );
    const alone = this.nodes.filter(({ name }) => !linked.some((place) => place.name === name));
    const { places: standing, rows: between } = fractions(linked);
    const places = [
      ...standing,
      ...alone.map(({ name }, nth) => ({ name, x: (nth + 1) / (alone.length + 1), y: 1 })),
    ].map((place) => ({ ...place, ...(drawn ? this.lab.places.get(place.name) : {}) }));
    this.crowded = new Set(places.map(({ x }) => x)).size > 4;
    const rows = Math.max(2, Math.floor(between)) + (alone.length ? 1 : 0);
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

  private node({ name, kind }: Named, drawn: boolean): SVGElement {
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

  /** Labels the links with rate and delay, or only the rate if crowded; links that are named for one of their ends have no visible label. */
  private label(): void {
    for (const link of this.links) {
      const group = this.element.querySelector(`[data-link="${CSS.escape(link.name)}"]`);
      if (!group) continue;
      const { rate } = link;
      const facts = [rate, link.delay].filter(Boolean).join(" · ");
      const quiet = link.name === link.from || link.name === link.to;
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

/** Key of the document's table that describes a link of the run; null if there is none. */
export function linkKey({ doc, result }: Lab, name: string): Key | null {
  if (!doc) return null;
  if (isDrawn(doc)) {
    const at = wires(doc).findIndex((wire) => wire.name === name);
    return at < 0 ? null : ["network", "link", at];
  }
  const { key, index } = result?.run.recording.header.links.find((link) => link.name === name) ?? {};
  const given = key && get(doc, ["network", key]);
  if (!key || given === undefined) return null;
  return Array.isArray(given) ? ["network", key, index!] : ["network", key];
}
