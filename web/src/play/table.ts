import { el } from "../dom";
import { integer, quantity } from "../format";
import { flowName, type Lab, type Result } from "./lab";

interface Column {
  title: string;
  help: string;
  name: string;
  say(value: number): string;
}

const bits = (value: number) => quantity(value, "bit/s");
const seconds = (value: number) => quantity(value, "s");

const COLUMNS: Column[] = [
  {
    title: "Goodput",
    help: "what the application got, over the time it took",
    name: "goodput_bps",
    say: bits,
  },
  { title: "RTT mean", help: "mean of the measured round-trip times", name: "rtt_mean_s", say: seconds },
  { title: "RTT p95", help: "their 95th percentile", name: "rtt_p95_s", say: seconds },
  { title: "Sent again", help: "retransmissions", name: "retransmissions", say: integer },
  { title: "Lost", help: "packets that the network dropped", name: "packets_lost", say: integer },
  {
    title: "Complete",
    help: "from the start to the last byte; – if it did not end",
    name: "completion_s",
    say: seconds,
  },
];

/** Titles of columns that a lesson may ask for and whose names explain too little. */
const TITLES: Record<string, string> = {
  owd_p50_s: "One-way delay, median",
  rtt_p50_s: "RTT median",
  rtt_p99_s: "RTT p99",
  message_latency_mean_s: "Message latency, mean",
  message_latency_p50_s: "Message latency, median",
  message_latency_p95_s: "Message latency p95",
  first_byte_s: "First byte",
  packets_sent: "Sent",
  mark_reductions: "Slowed down by marks",
};

const UNITS: [RegExp, string][] = [
  [/_bps$/, "bit/s"],
  [/_bytes$/, "B"],
  [/_s$/, "s"],
];

/** Key-number column for a column of results, with the unit of its name's suffix. */
export function named(name: string): Column {
  const [ending, unit] = UNITS.find(([pattern]) => pattern.test(name)) ?? [/$/, ""];
  const words = name.replace(ending, "").replaceAll("_", " ");
  const title = TITLES[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
  return { title, help: `${name}: the lesson asks for it`, name, say: (value) => quantity(value, unit) };
}

const number = (result: Result | null, table: string, name: string, row: number) => {
  const value = result?.tables[table]?.[name]?.[row];
  return typeof value === "number" ? value : Number.NaN;
};

/** Maximum number of rows; more belong in a file. */
const MOST = 12;

/** Table of each flow's key numbers; below each, those of the pinned scenario. */
export class KeyNumbers {
  readonly element = el("section", { class: "numbers-table", "aria-label": "Key numbers" });

  /** `asked`: additional columns that a question is about. */
  constructor(
    private readonly lab: Lab,
    private readonly asked: () => string[],
  ) {
    lab.onResult(() => this.show());
  }

  show(): void {
    const { result, pinned } = this.lab;
    if (!result) return;
    const count = result.tables.flows?.flow?.length ?? 0;
    const rows = Array.from({ length: Math.min(count, MOST) }, (_, row) => this.row(row));
    const heads = this.columns().map(({ title, help }) => el("th", { scope: "col", title: help }, title));
    const table = el(
      "table",
      {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Flow"), ...heads)),
      el("tbody", {}, ...rows),
    );
    const facts = el("p", { class: "facts-line" });
    const add = (label: string, table: string, name: string, row: number, say: (value: number) => string) => {
      const now = number(result, table, name, row);
      if (Number.isNaN(now)) return;
      const then = pinned ? el("small", {}, say(number(pinned, table, name, row))) : "";
      facts.append(el("span", {}, `${label} `, el("b", { class: "fact" }, say(now)), then));
    };
    const share = (value: number) => `${(value * 100).toFixed(1)} %`;
    add("Jain’s index", "runs", "jain", 0, (value) => value.toFixed(3));
    const busiest = this.busiest();
    add(`use of ${busiest.name}`, "links", "utilisation", busiest.row, share);
    add("its queue, mean", "links", "queue_delay_mean_s", busiest.row, seconds);
    add("p95", "links", "queue_delay_p95_s", busiest.row, seconds);
    const marks = number(result, "links", "marks", busiest.row);
    if (marks > 0) add("marks", "links", "marks", busiest.row, integer);
    if (count > MOST) facts.append(el("span", {}, `and ${count - MOST} flows more`));
    this.element.replaceChildren(el("div", { class: "wide" }, table), facts);
  }

  private columns(): Column[] {
    const more = this.asked().filter((name) => COLUMNS.every((column) => column.name !== name));
    return [...COLUMNS, ...more.map(named)];
  }

  private busiest(): { row: number; name: string } {
    const links = this.lab.result!.tables.links ?? {};
    const use = (links.utilisation ?? []).map((value) => Number(value ?? 0));
    const row = use.indexOf(Math.max(...use));
    return { row: Math.max(0, row), name: String(links.link?.[row] ?? "the link") };
  }

  private row(row: number): HTMLElement {
    const { lab } = this;
    const swatch = el("i", { class: "swatch" });
    swatch.style.setProperty("--colour", `var(--line-${row % 7})`);
    const name = el("button", { type: "button", class: "flow-name" }, swatch, flowName(lab, row));
    const group = Number(lab.result!.tables.flows!.group?.[row] ?? row);
    name.title = `Edit flow ${group}`;
    name.addEventListener("click", () => lab.choose({ kind: "flow", index: group }));
    const cells = this.columns().map(({ name, say }) => {
      const cell = el("td", {}, say(number(lab.result, "flows", name, row)));
      if (lab.pinned) cell.append(el("small", {}, say(number(lab.pinned, "flows", name, row))));
      return cell;
    });
    return el("tr", {}, el("th", { scope: "row" }, name), ...cells);
  }
}
