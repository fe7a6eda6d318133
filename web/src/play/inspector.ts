import { button, el } from "../dom";
import type { Entry } from "./catalogue";
import { choice, type Field, fixed, limit, number, quantity } from "./controls";
import { nodeFields } from "./drawing";
import { cut, isDrawn, nodes } from "./drawn";
import type { Lab } from "./lab";
import { control } from "./parameters";
import { copy, get, isTable, type Key, type Toml } from "./toml";

const RATE = { least: 64e3, most: 1e9, log: true, zero: false };
const DELAY = { least: 1e-4, most: 1, log: true, zero: true };
const LOSS = { least: 1e-4, most: 0.3, log: true, zero: true };

/** Parameters that are shown first; the others are folded away. */
const FIRST: Record<string, string[]> = {
  tcp: ["cc", "recovery", "slow_start", "initial_window", "receive_buffer", "ecn"],
  udp: ["rate", "payload"],
  dccp: ["cc", "ack_ratio", "ecn"],
  sctp: ["cmt", "cc", "cwnd_growth", "streams", "scheduler", "receive_buffer", "buffer_split"],
  mptcp: ["scheduler", "path_manager", "cc", "receive_buffer"],
  quic: ["cc", "slow_start", "initial_window", "handshake", "streams", "ecn"],
};
/** Parameters that need a real machine under the laboratory, which a page does not have. */
const ELSEWHERE = new Set([
  ...["stack", "kernel", "sysctl", "module", "moderation", "sample", "offloads", "netem", "client", "server"],
  ...["measured", "like", "address_token"],
]);

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
    const topology = String(get(lab.doc!, ["network", "topology"]) ?? "");
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
    for (const [key, most] of [
      ["pairs", 10],
      ["hops", 8],
    ] as const) {
      const of = { pairs: "dumbbell", hops: "parking-lot" }[key];
      if (topology !== of) continue;
      const scale = { least: 1, most, log: false, zero: false, whole: true };
      parts.push(number(this.at(["network", key], key, key === "pairs" ? "1" : "3"), scale));
    }
    const adder = { multipath: "path", path: "hop" }[topology];
    if (adder)
      parts.push(
        el(
          "div",
          { class: "acts" },
          button(`Add a ${adder}`, `Add a ${adder}`, () => this.addLink()),
        ),
      );
    return parts;
  }

  /** Key of the list of links that can grow. */
  private get list(): Key {
    return ["network", get(this.lab.doc!, ["network", "topology"]) === "multipath" ? "path" : "link"];
  }

  private addLink(): void {
    const links = get(this.lab.doc!, this.list);
    if (Array.isArray(links)) this.lab.edit(this.list, [...links, copy(links.at(-1)!)], null);
  }

  private link(key: Key, name: string): HTMLElement[] {
    const held = get(this.lab.doc!, key);
    if (!isTable(held)) return this.whole();
    const parts: HTMLElement[] = [el("h3", {}, name === "link" ? "The link" : `Link ${name}`)];
    const all = get(this.lab.doc!, this.list);
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
          this.list,
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
    const plain = held === undefined || (typeof held === "string" && /^\d/.test(held));
    const kind = plain ? "drop-tail" : String(isTable(held) ? (held.kind ?? "drop-tail") : held);
    const room = plain ? held : get(lab.doc!, [...key, "limit"]);
    const change = (name: unknown) => {
      const next = String(name ?? "drop-tail");
      const value: Toml =
        next === "drop-tail" ? (room ?? "1000 packets") : { kind: next, ...(room ? { limit: room } : {}) };
      lab.edit(key, value, this);
      this.show();
    };
    const chooser = choice(
      { label: "queue", value: kind, fallback: "", change },
      lab.catalogue.entries("queue"),
    );
    const entry = lab.catalogue.find("queue", kind);
    if (plain) return [chooser, limit(this.at(key, "holds", "1000 packets"))];
    return [chooser, ...this.parameters(entry, key, ["limit", "target", "mark", "min", "max"])];
  }

  private loss(key: Key): HTMLElement[] {
    const { lab } = this;
    const held = get(lab.doc!, key);
    const kind =
      held === undefined || typeof held === "number" ? "bernoulli" : String(get(lab.doc!, [...key, "kind"]));
    const change = (name: unknown) => {
      const next = String(name);
      const made: Record<string, Toml> = {
        bernoulli: 0.01,
        periodic: { kind: next, every: 100 },
        "gilbert-elliott": { kind: next, p: 0.01, r: 0.3 },
        "bit-errors": { kind: next, rate: 1e-6 },
        list: { kind: next, packets: [30] },
      };
      lab.edit(key, made[next], this);
      this.show();
    };
    const chooser = choice(
      { label: "losses", value: kind, fallback: "", change },
      lab.catalogue.entries("loss model"),
    );
    if (kind === "bernoulli" && !isTable(held)) return [chooser, number(this.at(key, "lost", "0"), LOSS)];
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
    const transport = String(get(lab.doc!, [...key, "transport", "kind"]) ?? "tcp");
    return [
      heading,
      quantity(this.at([...key, "start"], "start", "0 s"), "duration", start),
      this.kind([...key, "transport"], "transport", transport),
      ...this.parameters(
        lab.catalogue.find("transport", transport),
        [...key, "transport"],
        FIRST[transport] ?? [],
      ),
      this.kind([...key, "app"], "application", app),
      ...this.parameters(
        lab.catalogue.find("application", app),
        [...key, "app"],
        ["size", "rate", "http", "objects"],
      ),
    ];
  }

  /** Drop-down list of kinds; a newly chosen kind starts with its defaults. */
  private kind(key: Key, label: string, value: string): HTMLElement {
    const { lab } = this;
    const options = lab.catalogue.entries(label).filter(({ name }) => name !== "command");
    const field: Field = {
      label,
      value,
      fallback: "",
      change: (name) => {
        const made: Record<string, Toml> = { udp: { kind: "udp", rate: "5 Mbps" } };
        lab.edit(key, made[String(name)] ?? { kind: String(name) }, this);
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
      if (ELSEWHERE.has(parameter.name) || parameter.name === "kind") continue;
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
