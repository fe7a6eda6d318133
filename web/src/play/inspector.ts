import { button, el } from "../dom";
import { begun, type Entry, type LinkKey } from "./catalogue";
import { choice, type Field, fixed, limit, number, quantity } from "./controls";
import { nodeFields } from "./drawing";
import { cut, isDrawn, nodes } from "./drawn";
import type { Lab } from "./lab";
import { control } from "./parameters";
import { copy, get, isTable, type Key, type Toml } from "./toml";

const RATE = { least: 64e3, most: 1e9, log: true, zero: false };
const DELAY = { least: 1e-4, most: 1, log: true, zero: true };
const SIZE = { least: 1, most: 10, log: false, zero: false, whole: true };
const LOSS = { least: 1e-4, most: 0.3, log: true, zero: true };

/** Controls for the selected link, flow or node, or for the scenario as a whole. */
export class Inspector {
  readonly element = el("section", { class: "inspector", "aria-label": "Settings" });

  constructor(private readonly lab: Lab) {
    lab.onDocument((by) => {
      if (by !== this) this.show();
    });
    lab.onChoice(() => this.show());
  }

  show(): void {
    const { doc, chosen } = this.lab;
    const open = [...this.element.querySelectorAll("details")].map((one) => one.open);
    const parts = doc
      ? chosen.kind === "link"
        ? this.link(chosen.key, chosen.name)
        : chosen.kind === "flow"
          ? this.flow(chosen.index)
          : chosen.kind === "node" && nodes(doc).some(({ name }) => name === chosen.name)
            ? nodeFields(this.lab, chosen.name)
            : this.whole()
      : [el("p", { class: "soft" }, "The TOML cannot be read. It says below what is wrong.")];
    this.element.replaceChildren(...parts);
    this.element.querySelectorAll("details").forEach((one, index) => {
      one.open = open[index] ?? false;
    });
  }

  /** Field for a key of the document: its value, and the edit that a change makes. */
  private at(key: Key, label: string, fallback: string, help?: string): Field {
    return {
      label,
      help,
      value: get(this.lab.doc!, key),
      fallback,
      change: (value) => this.lab.edit(key, value, this),
    };
  }

  private whole(): HTMLElement[] {
    const { lab } = this;
    const parts: HTMLElement[] = [
      el("h3", {}, "The run"),
      quantity(this.at(["until"], "until", "60 s"), "duration", {
        least: 0.5,
        most: 120,
        log: true,
        zero: false,
      }),
      number(this.at(["seed"], "seed", "1"), { least: 1, most: 100, log: false, zero: false, whole: true }),
    ];
    const topology = lab.catalogue.find("topology", get(lab.doc!, ["network", "topology"]));
    for (const { name, default: fallback, expected } of topology?.parameters ?? []) {
      if (expected.startsWith("a whole number"))
        parts.push(number(this.at(["network", name], name, fallback), SIZE));
    }
    const { list } = this;
    if (list?.count === "many") {
      const label = `Add a ${list.noun}`;
      parts.push(
        el(
          "div",
          { class: "acts" },
          button(label, label, () => this.addLink(list.key)),
        ),
      );
    }
    return parts;
  }

  /** Key of the list of links that can grow. */
  private get list(): LinkKey | undefined {
    return this.lab.catalogue.links(this.lab.doc).find(({ count }) => count === "many" || count === "named");
  }

  private addLink(list: string): void {
    const links = get(this.lab.doc!, ["network", list]);
    if (Array.isArray(links)) this.lab.edit(["network", list], [...links, copy(links.at(-1)!)], null);
  }

  private link(key: Key, name: string): HTMLElement[] {
    const held = get(this.lab.doc!, key);
    if (!isTable(held)) return this.whole();
    const parts: HTMLElement[] = [el("h3", {}, name === "link" ? "The link" : `Link ${name}`)];
    const list: Key = key.slice(0, -1);
    const all = get(this.lab.doc!, list);
    if (isDrawn(this.lab.doc)) {
      const remove = () => {
        this.lab.choose({ kind: "scenario" });
        this.lab.replace(cut(this.lab.doc!, name));
      };
      parts[0]!.append(button("Remove", `Remove link ${name}`, remove, "small"));
    } else if (Array.isArray(all) && all.length > 1 && typeof key.at(-1) === "number") {
      const remove = () => {
        this.lab.choose({ kind: "scenario" });
        this.lab.edit(
          list,
          all.filter((_, index) => index !== key.at(-1)),
          null,
        );
      };
      parts[0]!.append(button("Remove", `Remove link ${name}`, remove, "small"));
    }
    if (typeof held.rate === "object") parts.push(fixed("rate", "varies: see the TOML"));
    else parts.push(quantity(this.at([...key, "rate"], "rate", "10 Mbps"), "rate", RATE));
    parts.push(quantity(this.at([...key, "delay"], "delay", "0 ms"), "duration", DELAY));
    parts.push(...this.queue([...key, "queue"]));
    parts.push(...this.loss([...key, "loss"]));
    for (const side of ["forward", "reverse"]) {
      if (isTable(held[side])) parts.push(fixed(side, "differs: see the TOML"));
    }
    return parts;
  }

  private queue(key: Key): HTMLElement[] {
    const { lab } = this;
    const held = get(lab.doc!, key);
    const usual = lab.catalogue.usual("queue")!;
    const most = usual.parameters.find(({ name }) => name === usual.plain)!.default;
    const plain = held === undefined || (typeof held === "string" && /^\d/.test(held));
    const kind = plain ? usual.name : String(isTable(held) ? (held.kind ?? usual.name) : held);
    const room = plain ? held : get(lab.doc!, [...key, "limit"]);
    const change = (name: unknown) => {
      const next = String(name ?? usual.name);
      const value: Toml =
        next === usual.name ? (room ?? most) : { kind: next, ...(room ? { limit: room } : {}) };
      lab.edit(key, value, this);
      this.show();
    };
    const chooser = choice(
      { label: "queue", value: kind, fallback: "", change },
      lab.catalogue.entries("queue"),
    );
    const entry = lab.catalogue.find("queue", kind);
    if (plain) return [chooser, limit(this.at(key, "holds", most))];
    return [chooser, ...this.parameters(entry, key, ["limit", "target", "mark", "min", "max"])];
  }

  private loss(key: Key): HTMLElement[] {
    const { lab } = this;
    const held = get(lab.doc!, key);
    const usual = lab.catalogue.usual("loss")!;
    const kind =
      held === undefined || typeof held === "number" ? usual.name : String(get(lab.doc!, [...key, "kind"]));
    const change = (name: unknown) => {
      const made = begun(lab.catalogue.find("loss model", name)!);
      lab.edit(key, name === usual.name ? made[usual.plain!] : made, this);
      this.show();
    };
    const chooser = choice(
      { label: "losses", value: kind, fallback: "", change },
      lab.catalogue.entries("loss model"),
    );
    if (kind === usual.name && !isTable(held)) return [chooser, number(this.at(key, "lost", "0"), LOSS)];
    return [
      chooser,
      ...this.parameters(lab.catalogue.find("loss model", kind), key, ["p", "r", "every", "rate"]),
    ];
  }

  private flow(index: number): HTMLElement[] {
    const { lab } = this;
    const flows = get(lab.doc!, ["flow"]);
    if (!Array.isArray(flows) || !isTable(flows[index])) return this.whole();
    const key: Key = ["flow", index];
    const heading = el("h3", {}, `Flow ${index}`);
    heading.append(button("Copy", `Add a flow like flow ${index}`, () => lab.addFlow(index), "small"));
    if (flows.length > 1)
      heading.append(button("Remove", `Remove flow ${index}`, () => lab.removeFlow(index), "small"));
    const end = Number(lab.until) || 10;
    const start = { least: 0, most: Math.max(1, end), log: false, zero: false };
    const app = String(get(lab.doc!, [...key, "app", "kind"]) ?? "upload");
    const application = lab.catalogue.find("application", app);
    const named = get(lab.doc!, [...key, "transport", "kind"]) ?? lab.catalogue.usual("transport")!.name;
    const transport = lab.catalogue.find("transport", named);
    return [
      heading,
      quantity(this.at([...key, "start"], "start", "0 s"), "duration", start),
      this.kind([...key, "transport"], "transport", String(named)),
      ...this.parameters(transport, [...key, "transport"], transport?.first ?? []),
      this.kind([...key, "app"], "application", app),
      ...this.parameters(
        application?.host ? undefined : application,
        [...key, "app"],
        ["size", "rate", "http", "objects"],
      ),
    ];
  }

  /** Drop-down list of kinds; a newly chosen kind starts with its defaults. */
  private kind(key: Key, label: string, value: string): HTMLElement {
    const { lab } = this;
    const options = lab.catalogue.entries(label).filter(({ host }) => !host);
    const field: Field = {
      label,
      value,
      fallback: "",
      change: (name) => {
        lab.edit(key, begun(lab.catalogue.find(label, name)!), this);
        this.show();
      },
    };
    return choice(field, options);
  }

  private parameters(entry: Entry | undefined, key: Key, first: string[]): HTMLElement[] {
    if (!entry) return [];
    const { lab } = this;
    const [above, below]: [HTMLElement[], HTMLElement[]] = [[], []];
    for (const parameter of entry.parameters) {
      if (entry.hidden?.includes(parameter.name) || parameter.name === "kind") continue;
      const own: Key = [...key, parameter.name];
      const value = get(lab.doc!, own);
      const made = control(parameter, value, lab.catalogue, (changed) => {
        lab.edit(own, changed, this);
        if (changed === undefined || parameter.expected.startsWith("the name of")) this.show();
      });
      const list = first.includes(parameter.name) || value !== undefined ? above : below;
      list.push(made);
      if (isTable(value) && value.kind) {
        const kind = /^the name of an? (.+?), or/.exec(parameter.expected)?.[1] ?? "";
        above.push(
          el("div", { class: "inner" }, ...this.parameters(lab.catalogue.find(kind, value.kind), own, [])),
        );
      }
    }
    if (!below.length) return above;
    const name = entry.name;
    const more = el("details", {}, el("summary", {}, `More of ${name} (${below.length})`), ...below);
    return [...above, more];
  }
}
