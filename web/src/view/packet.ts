import { button, el } from "../dom";
import { duration, integer, moment } from "../format";
import { kindInWords } from "./difference";
import type { Model } from "./model";
import { Fate, type Header, type Packets, words } from "./recording";

const FATES = [
  "still under way at the end",
  "arrived",
  "dropped by a queue",
  "lost on the wire",
  "corrupted",
  "passed the capture; what became of it is not known here",
];

/** Fates between two captures. */
const FATES_BETWEEN: Record<number, string> = {
  [Fate.underWay]: "not found in the other capture, which may lack it",
  [Fate.arrived]: "passed the other capture",
  [Fate.lost]: "lost before the other capture",
};

/** Frame numbers of a packet in the captures at its sender's and its receiver's interface. */
export function framesInWords(packets: Packets, { interfaces }: Header, packet: number): string {
  const places = [
    [packets.sent, packets.sentAt],
    [packets.arrived, packets.arrivedAt],
  ].flatMap(([number, at]) =>
    number?.[packet] ? [`${number[packet]} at ${interfaces?.[at![packet]!]}`] : [],
  );
  return places.join(", ");
}

/** Details of the selected packet: its header in words, its way, and why it was sent. */
export class PacketPanel {
  readonly element = el("aside", {
    class: "packet",
    "aria-label": "Packet",
    "aria-live": "polite",
    hidden: true,
  });

  constructor(private readonly model: Model) {}

  show(): void {
    const { selected, runs } = this.model;
    this.element.hidden = selected === null;
    if (!selected) return;
    const run = runs[selected.run]!;
    const { packet } = selected;
    const { packets, header } = run.recording;
    const flow = header.flows[packets.flow[packet]!];
    const side = packets.side[packet] ? "server" : "client";
    const host = flow ? (packets.side[packet] ? flow.server : flow.client) : side;
    const by = host === side ? side : `${host} (${side})`;
    const why = header.reasons[packets.reason[packet]!] ?? "–";
    const facts: [string, string][] = run.observed
      ? [
          ["Connection", `${flow?.connection ?? "–"}`],
          ["Sent by", by],
          ["Passed at", moment(packets.time[packet]!)],
        ]
      : [
          [
            "Flow",
            `${packets.flow[packet]}${flow ? `: ${[flow.transport, flow.cc].filter(Boolean).join(", ")}` : ""}`,
          ],
          ["Sent by", `${by}, path ${packets.path[packet]}`],
          ["Sent at", moment(packets.time[packet]!)],
        ];
    facts.push(
      ["Size", `${integer(packets.size[packet]!)} B on the wire`],
      ["Kind", kindInWords(packets.kind[packet]!) || "–"],
      [run.observed ? "It is" : "Sent because", why],
    );
    const put = (name: string, values: number[]) => {
      if (!values.some(Number.isNaN)) facts.push([name, values.map(integer).join(" – ")]);
    };
    put("Carries", [packets.from[packet]!, packets.to[packet]!]);
    put("Acknowledges", [packets.ack[packet]!]);
    put("Window’s edge", [packets.edge[packet]!]);
    for (let block = packets.sacks[packet]!; block < packets.sacks[packet + 1]!; block++) {
      put("SACK block", [run.recording.sacks.from[block]!, run.recording.sacks.to[block]!]);
    }
    facts.push(["Fate", this.fate(packet)]);
    const numbers = framesInWords(packets, header, packet);
    if (numbers) facts.push([run.atOnePlace ? "In the capture" : "In captures", numbers]);
    this.element.replaceChildren(
      el(
        "header",
        {},
        el("h2", {}, `Packet ${integer(packet)}`),
        runs.length > 1 ? el("span", { class: "of" }, run.name) : "",
        el(
          "div",
          { class: "tools" },
          button("‹", "Previous packet (p)", () => this.step(-1)),
          button("›", "Next packet (n)", () => this.step(1)),
          button("×", "Close the packet’s panel (Escape)", () => this.model.select(null)),
        ),
      ),
      el(
        "pre",
        { class: "words", tabindex: 0, "aria-label": "Header in words" },
        words(run.recording, packet) || "–",
      ),
      el("dl", {}, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
      run.atOnePlace ? "" : this.way(packet),
    );
  }

  /** Selects the next or previous packet of the same flow, from either side. */
  step(by: 1 | -1): void {
    const { selected, runs, axis } = this.model;
    const run = runs[selected?.run ?? this.model.lead]!;
    const { flow, path, time, count } = run.recording.packets;
    const of = selected ? flow[selected.packet]! : this.model.flow;
    const isOf = (packet: number) =>
      flow[packet] === of && (this.model.path < 0 || path[packet] === this.model.path);
    let packet = selected ? selected.packet + by : run.journeys.underWay(axis.cursor, axis.cursor)[1];
    while (packet >= 0 && packet < count && !isOf(packet)) packet += by;
    if (packet < 0 || packet >= count) return;
    this.model.select({ run: selected?.run ?? this.model.lead, packet });
    axis.reveal(time[packet]!);
    axis.pointAt(time[packet]!);
  }

  private fate(packet: number): string {
    const run = this.model.runs[this.model.selected!.run]!;
    const { packets, header } = run.recording;
    const fate = packets.fate[packet]!;
    if (header.observed && fate !== Fate.passed) return FATES_BETWEEN[fate] ?? "–";
    const link = header.links[packets.link[packet]!];
    const place = link ? `, link ${link.from} → ${link.to}` : "";
    const when = fate === Fate.underWay || fate === Fate.passed ? "" : `, ${moment(packets.gone[packet]!)}`;
    return `${FATES[fate] ?? "–"}${place}${when}`;
  }

  private way(packet: number): HTMLElement {
    const run = this.model.runs[this.model.selected!.run]!;
    const { journeys } = run;
    const sent = run.recording.packets.time[packet]!;
    const since = (time: number) => `+${((time - sent) / 1e6).toFixed(3)} ms`;
    const head = el(
      "tr",
      {},
      ...["Link", "Came", "Waited", "Arrived"].map((name) => el("th", { scope: "col" }, name)),
    );
    const rows = journeys.legs(packet).map((leg) => {
      const cells = [
        `${leg.from} → ${leg.to}`,
        since(leg.came),
        Number.isNaN(leg.wait) ? "–" : duration(leg.wait),
        Number.isNaN(leg.arrived) ? "never" : since(leg.arrived),
      ];
      return el("tr", {}, ...cells.map((text) => el("td", {}, text)));
    });
    return el("div", { class: "way" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
  }
}
