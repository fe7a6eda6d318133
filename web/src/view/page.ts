import { button, el, select } from "../dom";
import { TimeAxis } from "../drawing/axis";
import { type Command, helpDialog, keyboard } from "../drawing/keyboard";
import { Plot } from "../drawing/plot";
import { Themes } from "../drawing/theme";
import type { Vertical } from "../drawing/vertical";
import { duration, integer } from "../format";
import { differenceInWords, firstDifference, sameInWords } from "./difference";
import { type Model, overlaid, runColour } from "./model";
import { NetworkPanel } from "./network";
import { PacketPanel } from "./packet";
import { panels } from "./panels/all";
import { Player } from "./player";
import type { Flow, Observed } from "./recording";
import type { Run, Selection } from "./run";

/** Initial range of truncated runs, relative to their known part: the shade beyond it shows that they went on. */
const BEYOND = 1.06;

/** The viewer's page of one or several runs. */
export class Viewer {
  readonly model: Model;
  private readonly plots: Plot[];
  private readonly network: NetworkPanel;
  private readonly packet: PacketPanel;
  private readonly player: Player;
  private readonly themes: Themes;
  private readonly help: HTMLDialogElement;
  private readonly choosers = el("div", { class: "choosers" });

  /** `common`: the part of their names that several runs share. */
  constructor(
    root: HTMLElement,
    runs: Run[],
    private readonly common = "",
  ) {
    this.themes = new Themes(() => this.retheme());
    const axis = new TimeAxis(0, Math.max(...runs.map(({ end }) => end)));
    this.model = {
      runs,
      axis,
      flow: 0,
      path: -1,
      lead: 0,
      selected: null,
      difference: earliest(runs),
      theme: this.themes.current,
      select: (selection) => this.select(selection),
    };
    this.plots = panels(this.model).map((panel) => new Plot(panel, this.model));
    this.network = new NetworkPanel(this.model);
    this.packet = new PacketPanel(this.model);
    this.player = new Player(this.model);
    const commands = this.commands();
    this.help = helpDialog(commands);
    keyboard(commands);
    const [sequence, ...rest] = this.plots.map(({ element }) => element);
    const network = this.atOnePlace ? "" : this.network.element;
    const stack = el("div", { class: "stack" }, sequence!, network, ...rest);
    root.classList.add("vazao");
    root.replaceChildren(
      this.heading(),
      this.toolbar(),
      ...this.notes(),
      el("div", { class: "desk" }, stack, this.packet.element),
      this.help,
    );
    this.choose();
    if (runs.every((run) => run.isCut)) axis.show(0, Math.max(...runs.map(({ known }) => known)) * BEYOND);
    for (const plot of this.plots) plot.build();
    if (!this.atOnePlace) this.network.build();
    new ResizeObserver(() => this.resize()).observe(stack);
  }

  /** Whether it is a capture's: neither a network nor packets on their way are known. */
  private get atOnePlace(): boolean {
    return this.model.runs.some((run) => run.atOnePlace);
  }

  private heading(): HTMLElement {
    const { runs } = this.model;
    const { header } = runs[0]!.recording;
    const several = overlaid(this.model);
    const facts = [
      duration(Math.max(...runs.map(({ end }) => end))),
      ...(several ? [] : [`${integer(header.packets.kept)} packets`]),
      header.flows.length > 1
        ? `${header.flows.length} ${header.observed ? "connections" : "flows"}`
        : several
          ? ""
          : describe(header.flows[0]),
      `Vazão ${header.engine}`,
      header.observed
        ? dateInWords(header.observed.begin_s)
        : several
          ? ""
          : `run ${header.run_id.slice(0, 12)}`,
    ];
    const name = several ? this.common || `${runs.length} runs` : runs[0]!.name || header.name || "Run";
    const heading = el(
      "header",
      { class: "top" },
      el("h1", {}, name),
      el("p", {}, facts.filter(Boolean).join(" · ")),
    );
    if (several) {
      const legend = runs.map((run, index) => {
        const swatch = el("i", { class: "swatch" });
        swatch.style.setProperty("--colour", runColour(this.model, index));
        return el("span", { class: "key" }, swatch, run.name);
      });
      heading.append(el("div", { class: "legend runs" }, ...legend));
    }
    return heading;
  }

  private toolbar(): HTMLElement {
    const { axis } = this.model;
    const bar = el("div", { class: "bar", role: "toolbar", "aria-label": "View" });
    bar.append(
      this.choosers,
      el(
        "div",
        { class: "group" },
        button("−", "Zoom out (-)", () => axis.zoom(2)),
        button("+", "Zoom in (+)", () => axis.zoom(0.5)),
        button("All", "Show the whole run (Home)", () => axis.all()),
      ),
      this.atOnePlace ? "" : this.player.element,
    );
    if (overlaid(this.model)) {
      const jump = button("First difference", "Go to the first difference (d)", () => this.jump());
      jump.disabled = !this.model.difference;
      bar.append(jump);
    }
    bar.append(
      el(
        "div",
        { class: "group end" },
        button("◐", "Dark or light (t)", () => this.themes.toggle()),
        button("?", "Keys and gestures (?)", () => this.help.showModal()),
      ),
    );
    return bar;
  }

  /** Notes for the reader: the first difference, and packets that were not kept. */
  private notes(): HTMLElement[] {
    const { runs, difference } = this.model;
    const notes: string[] = [];
    if (overlaid(this.model)) {
      notes.push(
        difference
          ? differenceInWords(difference, runs[0]!.recording, runs[difference.other]!.recording, [
              runs[0]!.name,
              runs[difference.other]!.name,
            ])
          : sameInWords(runs.map(({ recording }) => recording)),
      );
    }
    const { observed, flows } = runs[0]!.recording.header;
    if (observed) notes.push(placesInWords(observed, flows), ...observed.notes);
    for (const { name, recording } of runs) {
      const { kept, all } = recording.header.packets;
      if (kept < all)
        notes.push(
          `${name}: the first ${integer(kept)} of ${integer(all)} packets were kept; ` +
            "what is drawn of packets ends where the shade begins.",
        );
    }
    return notes.map((text) => el("p", { class: "note", role: "status" }, text));
  }

  /** Rebuilds the choosers, because the paths depend on the flow. */
  private choose(): void {
    const { model } = this;
    const { flows } = model.runs[0]!.recording.header;
    const made: HTMLElement[] = [];
    if (flows.length > 1) {
      const names = flows.map((flow, index) =>
        flow.connection === undefined
          ? `Flow ${index}: ${describe(flow)}`
          : `Connection ${flow.connection}: ${describe(flow)}`,
      );
      made.push(
        select("Flow", names, model.flow, (flow) => {
          model.flow = flow;
          model.path = -1;
          this.choose();
          this.refresh();
        }),
      );
    }
    const paths = model.runs[0]!.paths(model.flow);
    if (paths.length > 1) {
      const names = ["All paths", ...paths.map((path) => `Path ${path}`)];
      made.push(
        select("Path", names, model.path < 0 ? 0 : paths.indexOf(model.path) + 1, (index) => {
          model.path = index ? paths[index - 1]! : -1;
          this.refresh();
        }),
      );
    }
    if (overlaid(model)) {
      const names = model.runs.map(({ name }) => `Network of ${name}`);
      made.push(
        select("Run whose network is shown", names, model.lead, (lead) => {
          model.lead = lead;
          this.network.build();
          this.refresh();
        }),
      );
    }
    this.choosers.replaceChildren(...made);
  }

  private commands(): Command[] {
    const { axis } = this.model;
    return [
      { keys: ["ArrowLeft"], shown: "←", help: "earlier", run: () => axis.pan(-0.2) },
      { keys: ["ArrowRight"], shown: "→", help: "later", run: () => axis.pan(0.2) },
      { keys: ["+", "="], shown: "+", help: "zoom in", run: () => axis.zoom(0.5, this.about()) },
      { keys: ["-", "_"], shown: "−", help: "zoom out", run: () => axis.zoom(2, this.about()) },
      { keys: ["Home", "0"], shown: "Home", help: "the whole run", run: () => axis.all() },
      ...this.verticalCommands(),
      ...(this.atOnePlace
        ? []
        : [{ keys: [" "], shown: "Space", help: "play or pause", run: () => this.player.toggle() }]),
      { keys: ["n"], shown: "n", help: "next packet", run: () => this.packet.step(1) },
      { keys: ["p"], shown: "p", help: "previous packet", run: () => this.packet.step(-1) },
      { keys: ["d"], shown: "d", help: "first difference between runs", run: () => this.jump() },
      { keys: ["t"], shown: "t", help: "dark or light", run: () => this.themes.toggle() },
      { keys: ["Escape"], shown: "Esc", help: "close the packet’s panel", run: () => this.select(null) },
      { keys: ["?"], shown: "?", help: "this help", run: () => this.help.showModal() },
    ];
  }

  /** Keys for the panel with the focus, or else under the pointer, or else the first in view. */
  private verticalCommands(): Command[] {
    const panel = () =>
      this.plots.find((plot) => plot.isMeant(":focus-within")) ??
      this.plots.find((plot) => plot.isMeant(":hover")) ??
      this.plots.find((plot) => plot.isInView) ??
      this.plots[0]!;
    const command = (keys: string[], shown: string, help: string, act: (vertical: Vertical) => void) => ({
      keys,
      shown,
      help,
      run: () => act(panel().vertical),
    });
    return [
      command(["y"], "y", "zoom in vertically: the panel with the focus, or at the pointer", (vertical) =>
        vertical.zoom(0.5),
      ),
      command(["Y"], "Shift + y", "zoom out vertically", (vertical) => vertical.zoom(2)),
      command(["k"], "k", "higher, once zoomed in", (vertical) => vertical.pan(0.2)),
      command(["j"], "j", "lower, once zoomed in", (vertical) => vertical.pan(-0.2)),
      command(["f"], "f", "fit vertically again", (vertical) => vertical.fit()),
    ];
  }

  /** Time about which keys zoom: the cursor's while it is in view, else the middle. */
  private about(): number {
    const { lo, hi, cursor } = this.model.axis;
    return cursor > lo && cursor < hi ? cursor : (lo + hi) / 2;
  }

  private jump(): void {
    const { difference, axis, runs } = this.model;
    if (!difference) return;
    this.model.flow = difference.flow;
    this.model.path = -1;
    this.choose();
    this.refresh();
    const longest = Math.max(...runs.map(({ journeys }) => journeys.longest), 1e6);
    axis.reveal(difference.time, longest * 0.5);
    axis.pointAt(difference.time);
    const { here, there, other } = difference;
    this.select(here !== null ? { run: 0, packet: here } : { run: other, packet: there! });
  }

  private select(selection: Selection | null): void {
    this.model.selected = selection;
    if (selection) {
      const { flow } = this.model.runs[selection.run]!.recording.packets;
      if (flow[selection.packet] !== this.model.flow) {
        this.model.flow = flow[selection.packet]!;
        this.choose();
        this.refresh();
      }
    }
    this.packet.show();
    this.model.axis.changed();
  }

  private refresh(): void {
    for (const plot of this.plots) {
      // A vertical range that was chosen for another flow means nothing here.
      plot.vertical.fit();
      plot.relabel();
    }
    this.model.axis.changed();
  }

  private retheme(): void {
    this.model.theme = this.themes.current;
    for (const plot of this.plots) plot.build();
    this.network.draw();
  }

  private resize(): void {
    for (const plot of this.plots) plot.resize();
    this.network.resize();
  }
}

/** Describes where packets were captured, and what follows for all that is drawn. */
function placesInWords({ between, captures }: Observed, flows: Flow[]): string {
  if (!between) {
    const hosts = new Set(flows.map(hostNear));
    const [host] = hosts;
    const near = hosts.size === 1 && host ? `, taken near ${host}` : "";
    return (
      `A capture${near}: times are those at which packets passed there. ` +
      "What became of them elsewhere, congestion windows and queues are not in it."
    );
  }
  const { ahead_ns: ahead, least_ns: least, lost, unknown, strangers } = between;
  const clock = `The clock of ${captures[1]} is taken to be ${duration(Math.abs(ahead))} ${ahead < 0 ? "behind" : "ahead"}`;
  const why =
    least === null
      ? ", as if the least delay were none: packets went one way alone, so that only differences of delays are known."
      : `, by which the least delays both ways are the same, ${duration(least)}: ` +
        "captures cannot tell more, so that only differences and sums of delays are sure.";
  const more = [
    `${integer(lost)} packets were lost between the two.`,
    unknown ? `Of ${integer(unknown)} nothing can be told.` : "",
    strangers ? `${integer(strangers)} were found at the far one alone, and are left out.` : "",
  ];
  return [`Two captures of the same packets. ${clock}${why}`, ...more].filter(Boolean).join(" ");
}

/** Describes when a capture was taken; those of runs begin at 0. */
function dateInWords(seconds: number): string {
  const date = new Date(seconds * 1e3);
  if (!(date.getUTCFullYear() > 1970)) return "";
  return `captured ${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** The host near which a connection was captured, without its port; empty if that is not known, or between the two. */
function hostNear({ client, server, sender, seen_from }: Flow): string {
  if (seen_from !== "sender" && seen_from !== "receiver") return "";
  return (sender === Number(seen_from === "sender") ? server : client).replace(/:\d+$/, "");
}

function describe(flow: Flow | undefined): string {
  if (flow?.connection !== undefined) return `${flow.client} – ${flow.server}`;
  return flow ? [flow.transport, flow.cc, flow.app].filter(Boolean).join(" ") : "";
}

/** The earliest difference between the first run and any other. */
function earliest(runs: Run[]) {
  const found = runs
    .slice(1)
    .map((run, index) => firstDifference(runs[0]!.recording, run.recording, index + 1));
  return found.reduce((a, b) => (!a || (b && b.time < a.time) ? b : a), null as Model["difference"]);
}
