import { button, el, select } from "../dom";
import { TimeAxis } from "../drawing/axis";
import { keyboard } from "../drawing/keyboard";
import { Plot } from "../drawing/plot";
import { Themes } from "../drawing/theme";
import type { Model } from "../view/model";
import { Viewer } from "../view/page";
import { Run } from "../view/run";
import { Catalogue, type Content, content } from "./catalogue";
import { Drawing } from "./drawing";
import { Editor } from "./editor";
import { compiled, Engine, hasEngine, type Runner } from "./engine";
import { follow, hosted } from "./host";
import { Inspector } from "./inspector";
import { Lab } from "./lab";
import { opened, packed } from "./link";
import { NetworkMap } from "./map";
import { livePanels } from "./panels";
import { Remote } from "./remote";
import { Share } from "./share";
import { KeyNumbers } from "./table";
import { Teacher } from "./teacher";
import { Waiting } from "./waiting";

/** The page: the scenario at the left, its results at the right. */
class Page {
  private readonly lab: Lab;
  private readonly model: Model;
  private readonly plots: Plot[];
  private themes: Themes;
  private readonly teacher: Teacher;
  private readonly numbers: KeyNumbers;
  private readonly root = el("div", { class: "play" });
  private readonly packets = el("div", { class: "packets", hidden: true });
  private readonly status = el("p", { class: "status", role: "status" });
  private readonly pins = el("span", { class: "pins" });
  private readonly flows = el("div", { class: "flows", role: "group", "aria-label": "Flows" });
  /** Milliseconds from a change to the redrawn plots. */
  readonly times: number[] = [];
  private since = 0;

  constructor(
    private readonly home: HTMLElement,
    readonly engine: Runner,
    private readonly given: Content,
  ) {
    this.themes = new Themes(() => this.retheme());
    this.lab = new Lab(engine, new Catalogue(given.kinds));
    this.model = this.makeModel();
    this.plots = livePanels(this.model, this.lab).map((panel) => new Plot(panel, this.model));
    this.teacher = new Teacher(this.lab, given.lessons, () => {
      this.numbers.show();
      this.keep();
    });
    this.numbers = new KeyNumbers(this.lab, () => this.teacher.asked);
    this.build();
    this.lab.onDocument(() => {
      this.since = performance.now();
      this.showFlows();
      this.keep();
    });
    this.lab.onResult(() => this.redraw());
    this.lab.onChoice(() => {
      this.showFlows();
      this.model.axis.changed();
    });
  }

  async start(): Promise<void> {
    const state = await opened(location.hash);
    if (state) {
      for (const [name, place] of Object.entries(state.places ?? {})) this.lab.places.set(name, place);
      await this.lab.load(state.toml);
      if (state.pinned) this.lab.pin(await this.lab.tried(state.pinned));
      if (state.lesson) await this.teacher.open(state.lesson, state.step ?? 0, true);
    } else if (this.given.lesson) await this.teacher.open(this.given.lesson, 0);
    else await this.lab.load(this.given.scenario);
    if (hosted) follow(this.lab);
    else addEventListener("hashchange", () => void this.follow());
  }

  /** Loads the scenario of an address that someone typed or went back to. */
  private async follow(): Promise<void> {
    const state = await opened(location.hash);
    if (state && state.toml !== this.lab.text) await this.lab.load(state.toml);
  }

  private makeModel(): Model {
    return {
      runs: [],
      axis: new TimeAxis(0, 1e9),
      flow: 0,
      path: -1,
      lead: 0,
      selected: null,
      difference: null,
      theme: this.themes.current,
      select: () => undefined,
    };
  }

  private build(): void {
    const { lab } = this;
    const presets = ["Start from…", ...this.given.presets.map(({ title }) => title)];
    const preset = select("Start from", presets, 0, (index) => {
      if (!index) return;
      if (this.teacher.lesson) this.teacher.close();
      lab.choose({ kind: "scenario" });
      void lab.load(this.given.presets[index - 1]!.text);
      preset.selectedIndex = 0;
    });
    const share = new Share(lab, this.plots, () => this.address());
    const top = el(
      "header",
      { class: "top" },
      el("h1", {}, "Vazão", el("span", {}, " laboratory")),
      this.teacher.chooser,
      preset,
      share.element,
      button("◐", "Dark or light", () => this.themes.toggle()),
    );
    const map = new NetworkMap(lab, () => this.keep());
    const run = button("Run", "The run as a whole", () => lab.choose({ kind: "scenario" }), "chip");
    const chips = el("div", { class: "chips" }, run, this.flows);
    const drawing = el(
      "section",
      { class: "card", "aria-label": "Network" },
      map.element as unknown as HTMLElement,
      chips,
      new Drawing(lab).element,
    );
    const left = el(
      "div",
      { class: "left" },
      this.teacher.element,
      drawing,
      new Inspector(lab).element,
      new Editor(lab).element,
    );
    const bar = el(
      "div",
      { class: "results-bar" },
      this.status,
      new Waiting(lab).element,
      this.pins,
      button("Compare with this", "Pin this setting, and draw the next ones over it", () => {
        lab.pin(lab.result);
        this.keep();
      }),
      button("Packets", "Every packet of this run", () => void this.look()),
    );
    const plots = el("div", { class: "plots" }, ...this.plots.map(({ element }) => element));
    const right = el("div", { class: "right" }, bar, this.numbers.element, plots);
    this.root.append(top, el("div", { class: "desk-play" }, left, right));
    this.home.classList.add("vazao");
    this.home.replaceChildren(this.root, this.packets);
    for (const plot of this.plots) plot.build();
    new ResizeObserver(() => {
      for (const plot of this.plots) plot.resize();
    }).observe(plots);
    this.colour();
  }

  private showFlows(): void {
    const { lab } = this;
    const chips = lab.flows.map((_, index) => {
      const chip = button(
        `Flow ${index}`,
        `Edit flow ${index}`,
        () => lab.choose({ kind: "flow", index }),
        "chip",
      );
      chip.setAttribute("aria-pressed", String(lab.chosen.kind === "flow" && lab.chosen.index === index));
      return chip;
    });
    if (chips.length) {
      chips.push(button("+", "Add a flow", () => lab.addFlow(lab.flows.length - 1), "chip add"));
    }
    this.flows.replaceChildren(...chips);
  }

  private redraw(): void {
    const { lab, model } = this;
    const { result, pinned } = lab;
    if (result) {
      model.runs.splice(0, model.runs.length, ...[result.run, ...(pinned ? [pinned.run] : [])]);
      const end = Math.max(...model.runs.map((run) => run.end));
      if (end !== model.axis.end) model.axis.stretch(end);
      for (const plot of this.plots) {
        plot.resize();
        plot.relabel();
      }
      model.axis.changed();
    }
    const comparison = pinned
      ? [
          el("i", { class: "swatch dashed" }),
          "compared",
          button(
            "×",
            "End the comparison",
            () => {
              lab.pin(null);
              this.keep();
            },
            "small",
          ),
        ]
      : [];
    this.pins.replaceChildren(...comparison);
    const { since } = this;
    this.since = 0;
    // Runs after the frame that draws the plots, because the axis has requested that frame before.
    requestAnimationFrame(() => this.showStatus(since));
  }

  private showStatus(since: number): void {
    const { lab } = this;
    const { result, fault } = lab;
    if (fault || (result && result.text !== lab.text && !lab.busy)) {
      this.status.textContent = "The last setting that ran is shown.";
    } else if (result) {
      const events = result.tables.runs?.events?.[0];
      const seconds = (result.run.end / 1e9).toPrecision(3);
      if (since) this.times.push(performance.now() - since);
      const redrawn = since ? ` · redrawn after ${Math.round(this.times.at(-1)!)} ms` : "";
      this.status.textContent = `${Number(seconds)} s · ${Number(events).toLocaleString("en")} events${redrawn}`;
    }
    document.body.dataset.settled = String(!lab.busy);
  }

  private retheme(): void {
    this.model.theme = this.themes.current;
    this.colour();
    for (const plot of this.plots) plot.build();
  }

  private colour(): void {
    this.model.theme.lines.forEach((colour, index) => {
      document.documentElement.style.setProperty(`--line-${index}`, colour);
    });
  }

  /** Opens the viewer on the current run and on the pinned one, with all their packets. */
  private async look(): Promise<void> {
    const { result, pinned } = this.lab;
    if (!result) return;
    const runs: Run[] = [];
    for (const [text, name] of [
      [pinned?.text, "compared"],
      [result.text, pinned ? "this" : ""],
    ] as const) {
      const recording = text ? await this.lab.packets(text) : null;
      if (recording) runs.push(new Run(recording, name));
    }
    if (!runs.length) return;
    const back = button(
      "← Back to the laboratory",
      "Back to the laboratory",
      () => this.close(),
      "main back",
    );
    const place = el("div");
    this.root.hidden = true;
    this.packets.hidden = false;
    this.packets.replaceChildren(back, place);
    new Viewer(place, runs);
    scrollTo(0, 0);
    back.focus({ preventScroll: true });
  }

  private close(): void {
    keyboard([]);
    this.packets.hidden = true;
    this.packets.replaceChildren();
    this.root.hidden = false;
    // The viewer may have changed the theme.
    const dark = document.documentElement.dataset.theme === "dark";
    if (dark !== this.themes.current.dark) this.themes.toggle();
    this.retheme();
  }

  private async hash(): Promise<string> {
    const { lesson, step } = this.teacher;
    const lessonState = lesson ? { lesson: lesson.name, step } : {};
    const { places } = this.lab;
    const placed = places.size ? { places: Object.fromEntries(places) } : {};
    return packed({ toml: this.lab.text, pinned: this.lab.pinned?.text, ...lessonState, ...placed });
  }

  private async address(): Promise<string> {
    return `${location.href.replace(/#.*/, "")}#${await this.hash()}`;
  }

  private timer = 0;
  /** Writes the state to the address, once it has been unchanged for a moment. */
  private keep(): void {
    if (hosted) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const hash = `#${await this.hash()}`;
      if (hash !== location.hash) history.replaceState(null, "", hash);
    }, 300);
  }
}

async function start(): Promise<void> {
  const home = document.getElementById("play");
  if (!home) return;
  try {
    const page = new Page(home, hasEngine() ? new Engine(await compiled()) : new Remote(), content());
    (window as unknown as { vazaoPlay: Page }).vazaoPlay = page;
    await page.start();
  } catch (error) {
    home.replaceChildren(
      el("p", { class: "failure", role: "alert" }, error instanceof Error ? error.message : String(error)),
    );
  }
}

void start();
