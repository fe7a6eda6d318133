/** The page: controls, one large view, small histograms that filter each other, and panels beside them. */

import { el } from "../dom";
import { Controls } from "./controls";
import { Crossfilter } from "./crossfilter";
import type { Again, Desk } from "./desk";
import { RUNNING } from "./pair";
import { running } from "./running";
import { Latest, Refused, tell } from "./server";
import { read, type State, written } from "./state";
import { Survey } from "./survey";
import { Tabs } from "./tabs";
import { top } from "./top";
import type { About, Ledger, TableName } from "./types";
import { View } from "./view";

class Page implements Desk {
  state!: State;
  readonly survey: Survey;
  private initial!: State;
  private readonly view: View;
  private readonly crossfilter: Crossfilter;
  private readonly controls: Controls;
  private readonly tabs: Tabs;
  private head!: HTMLElement;
  private readonly moving = new Latest();
  private readonly problem = el("p", { class: "problem", role: "alert", hidden: true });

  constructor(
    about: About,
    private readonly root: HTMLElement,
  ) {
    this.survey = new Survey(about);
    this.controls = new Controls(this, (changes) => this.moving.run(() => this.other(changes)));
    this.crossfilter = new Crossfilter(this, () => this.view.draw());
    this.view = new View(this, {
      drew: () => {
        this.problem.hidden = true;
        this.tabs.drew();
      },
      picked: (mark) => this.tabs.pick(mark),
      rows: () => Number(this.crossfilter.counted.dataset.rows ?? 0),
    });
    this.tabs = new Tabs(this, this.view);
    this.frame();
    void this.start();
    window.addEventListener("hashchange", () => this.restored());
    void tell<{ findings: Ledger[] }>("/api/findings").then(
      ({ findings }) => this.tabs.found(findings),
      this.failed,
    );
    window.setInterval(() => void this.watch(), 5000);
  }

  private async start(): Promise<void> {
    const table: TableName = this.survey.about.tables.flows ? "flows" : "runs";
    try {
      await this.survey.look(table, this.survey.parts()[0]?.[0] ?? null);
    } catch (error) {
      this.failed(error);
    }
    this.initial = this.survey.first(table);
    this.restore();
  }

  private restored(): void {
    if (location.hash.slice(1) !== written(this.state)) this.restore();
  }

  /** Restores the state from the address. */
  private restore(): void {
    this.state = read(location.hash.slice(1), this.initial);
    this.survey.valid(this.state);
    this.rebuild();
  }

  private frame(): void {
    const { crossfilter, controls, view, tabs } = this;
    this.head = this.heading();
    const facets = el(
      "details",
      { open: innerWidth > 900 },
      el("summary", {}, "Filters"),
      crossfilter.facets.root,
    );
    this.root.replaceChildren(
      this.head,
      this.problem,
      el(
        "main",
        {},
        el("aside", { class: "filters", "aria-label": "filters" }, facets),
        el("section", { class: "centre" }, controls.root, view.chart, view.key, view.note, crossfilter.row),
        el("aside", { class: "side" }, tabs.tabs, tabs.panel),
      ),
    );
    this.root.removeAttribute("aria-busy");
  }

  private heading(): HTMLElement {
    return top(this.survey.about, this.crossfilter.counted, () => this.change({ filters: [] }, "all"));
  }

  change(changes: Partial<State>, again: Again = "drawing"): void {
    Object.assign(this.state, changes);
    if (changes.table || changes.part !== undefined) this.survey.valid(this.state);
    history.replaceState(null, "", `#${written(this.state)}`);
    if (again === "all") this.rebuild();
    else this.refresh();
    if (again === "controls") this.controls.show();
  }

  /** Switches to other rows: another table, or another part of the study. */
  private async other(changes: Partial<State>): Promise<void> {
    const { survey } = this;
    const next = { ...this.state, ...changes };
    try {
      await survey.look(next.table, next.part);
    } catch (error) {
      this.failed(error);
    }
    const measures = survey.measures(next.table);
    const [x, color] = survey.axes(next.part);
    const placed =
      changes.part !== undefined
        ? { x: x ?? null, color: color ?? null, facet: survey.several ? "results" : null }
        : {};
    const scales = { logX: false, logY: survey.wide(measures.y) };
    this.change({ ...changes, ...measures, ...placed, ...scales, filters: [] }, "all");
  }

  private rebuild(): void {
    this.controls.show();
    this.crossfilter.rebuild();
    this.refresh();
    this.tabs.show();
  }

  private refresh(): void {
    this.view.draw();
    this.crossfilter.count();
  }

  /** Reloads the survey when a running campaign has new rows. */
  private async watch(): Promise<void> {
    if (document.hidden) return;
    try {
      const { version } = await tell<{ version: string }>("/api/version");
      if (version === this.survey.about.version) return;
      const before = JSON.stringify(this.survey.about.tables);
      this.survey.renew(await tell<About>("/api/about"));
      const head = this.heading();
      this.head.replaceWith(head);
      this.head = head;
      this.tabs.found((await tell<{ findings: Ledger[] }>("/api/findings")).findings);
      if (JSON.stringify(this.survey.about.tables) !== before) return this.rebuild();
      // If the columns are unchanged, keep the brush, the open finding and the keyboard focus.
      this.crossfilter.renew();
      this.refresh();
    } catch {
      /* The server has stopped or is busy: keep what is shown. */
    }
  }

  readonly failed = (error: unknown): void => {
    this.problem.textContent =
      error instanceof Refused
        ? error.message
        : "The server does not answer; is `vazao explore` still running?";
    this.problem.hidden = false;
  };
}

async function begin(): Promise<void> {
  if (location.pathname.startsWith(RUNNING)) return running();
  const root = document.getElementById("app");
  if (!root) return;
  try {
    new Page(await tell<About>("/api/about"), root);
  } catch (error) {
    root.replaceChildren(
      el("p", { class: "problem" }, error instanceof Error ? error.message : "There is no answer."),
    );
  }
}

void begin();
