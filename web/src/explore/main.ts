/** The page: controls, one large view, small histograms that filter each other, and panels beside them. */

import { choice, el, tick } from "../dom";
import { integer } from "../format";
import { sums } from "./binning";
import { draw } from "./chart";
import { title } from "./columns";
import { type Drawn, label, type Mark, marks } from "./marks";
import { domain, legend, type Place } from "./scales";
import { ask, Latest, Refused, tell } from "./server";
import * as side from "./side";
import { KINDS, read, type State, written } from "./state";
import { Strip } from "./strip";
import type {
  About,
  Answer,
  Ask,
  Column,
  Dimension,
  Domain,
  Figure,
  Filter,
  Kind,
  Ledger,
  TableName,
  Value,
} from "./types";

const BINS = 50;
const MOST_LEVELS = 40;
const WIDE = 300;
const STRIPS = 7;
const FIRST = [
  "goodput_bps",
  "rtt_p95_s",
  "completion_s",
  "packets_lost",
  "utilisation",
  "jain",
  "queue_delay_mean_s",
  "rtt_mean_s",
  "drops_queue",
  "timeouts",
];
const LISTED = 14;

type Tab = "findings" | "numbers" | "runs" | "sql";

class Page {
  private state!: State;
  private otherwise!: State;
  private tab: Tab = "findings";
  private strips = new Map<string, Strip>();
  private domains = new Map<string, Domain | null>();
  private cube: { column: string; answer: Answer; key: string } | null = null;
  private drawn: { drawn: Drawn; answer: Answer } | null = null;
  private ledgers: Ledger[] | null = null;
  private picked: Answer | null = null;
  private bounds = new Map<string, Map<Value, number>>();
  private fresh = true;
  private readonly main = new Latest();
  private readonly counting = new Latest();
  private readonly behind = new Latest();
  private readonly controls = el("div", { class: "controls" });
  private readonly chart = el("div", { class: "chart", role: "figure", "aria-label": "the view" });
  private readonly key = el("div", { class: "key" });
  private readonly note = el("p", { class: "note dim", role: "status" });
  private readonly row = el("div", { class: "strips" });
  private readonly facets = el("div", { class: "facets" });
  private readonly counted = el("span", { class: "counted" });
  private readonly panel = el("div", { class: "panel", role: "tabpanel" });
  private readonly tabs = el("div", { class: "tabs", role: "tablist" });
  private readonly problem = el("p", { class: "problem", role: "alert", hidden: true });

  constructor(
    private about: About,
    private readonly root: HTMLElement,
  ) {
    this.frame();
    void this.start();
    window.addEventListener("hashchange", () => this.restored());
    let timer = 0;
    new ResizeObserver(() => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.redraw(), 80);
    }).observe(this.chart);
    void tell<{ findings: Ledger[] }>("/api/findings").then((told) => {
      this.ledgers = told.findings;
      this.showTab();
    }, this.failed);
    window.setInterval(() => void this.watch(), 5000);
  }

  private async start(): Promise<void> {
    const table: TableName = this.about.tables.flows ? "flows" : "runs";
    try {
      await this.look(table, this.parts()[0]?.[0] ?? null);
    } catch (error) {
      this.failed(error);
    }
    this.otherwise = this.first(table);
    this.state = read(location.hash.slice(1), this.otherwise);
    this.valid();
    this.rebuild();
  }

  /** Learn the domains of the columns that are shown first, so that those that say nothing are left out. */
  private async look(table: TableName, part: string | null): Promise<void> {
    const names = FIRST.filter((name) =>
      this.numbers(table).some((one) => one.name === name && one.kind === "number"),
    );
    const answer = await ask({
      kind: "domain",
      table,
      ...(part !== null ? { part } : {}),
      dims: names.map((column) => ({ column })),
    });
    this.domains = new Map(Object.entries(answer.columns as unknown as Record<string, Domain | null>));
  }

  /** Whether a column's numbers are positive and far apart. */
  private wide(column: string | null): boolean {
    const found = column ? this.domains.get(column) : null;
    return Boolean(found && found.low > 0 && found.high > WIDE * found.low);
  }

  private get several(): boolean {
    return this.about.directories.length > 1;
  }

  private columns(table: TableName = this.state.table): Column[] {
    return this.about.tables[table] ?? [];
  }

  private numbers(table?: TableName): Column[] {
    return this.columns(table).filter((one) => one.kind !== "text" && one.name !== "run_id");
  }

  private readonly order = (column: string): Value[] => {
    if (column === "results") return this.about.directories.map((one) => one.label);
    return this.about.directories.flatMap(
      (one) => one.factors.find((factor) => factor.name === column)?.labels ?? [],
    );
  };

  /** The factors of the part that is seen, those that have no number's double first. */
  private factors(part: string | null = this.state?.part ?? this.parts()[0]?.[0] ?? null): string[] {
    const named = this.about.directories.flatMap((one) =>
      one.parts.filter((each) => each.name === part).flatMap((each) => each.factors),
    );
    const all = this.about.directories.flatMap((one) => one.factors.map((factor) => factor.name));
    return [...new Set(named.length ? named : all)];
  }

  private parts(): [string, string][] {
    const found = new Map(
      this.about.directories.flatMap((one) =>
        one.parts.map((part): [string, string] => [part.name, part.title || part.name]),
      ),
    );
    return [...found];
  }

  private first(table: TableName): State {
    const part = this.parts()[0]?.[0] ?? null;
    const [x, color] = this.factors(part);
    const measures = this.measures(table);
    return {
      table,
      part,
      kind: "mean",
      logX: false,
      logY: this.wide(measures.y),
      filters: [],
      facet: this.several ? "results" : null,
      ...measures,
      x: x ?? ["flow", "link"].find((name) => this.columns(table).some((one) => one.name === name)) ?? null,
      color: color ?? null,
    };
  }

  private measures(table: TableName): { y: string | null; z: string | null; strips: State["strips"] } {
    const names = this.numbers(table).map((one) => one.name);
    const dull = (name: string): boolean =>
      this.domains.has(name) && (this.domains.get(name)?.distinct ?? 0) < 2;
    const wanted = FIRST.filter((name) => names.includes(name) && !dull(name));
    const y = wanted[0] ?? names[0] ?? null;
    return {
      y,
      z: y,
      strips: (wanted.length ? wanted : names)
        .slice(0, STRIPS)
        .map((column) => ({ column, log: this.wide(column) })),
    };
  }

  /** Leave out of what a link says the columns that are not here. */
  private valid(): void {
    const known = new Set([...this.columns().map((one) => one.name), "results"]);
    const kept = (name: string | null): string | null => (name !== null && known.has(name) ? name : null);
    const { x, y, z, color, facet, filters, strips, part } = this.state;
    Object.assign(this.state, {
      x: kept(x),
      z: kept(z),
      color: kept(color),
      facet: kept(facet),
      y: kept(y) ?? this.measures(this.state.table).y,
      filters: filters.filter((one) => known.has(one.column)),
      strips: strips.filter((one) => known.has(one.column)),
      part: this.parts().some(([name]) => name === part) ? part : (this.parts()[0]?.[0] ?? null),
    });
  }

  private restored(): void {
    const hash = location.hash.slice(1);
    if (hash === written(this.state)) return;
    this.state = read(hash, this.otherwise);
    this.valid();
    this.rebuild();
  }

  private frame(): void {
    const [one] = this.about.directories;
    const heading = this.several ? `${this.about.directories.length} results` : (one?.title ?? "");
    document.title = `${heading} – Vazão explore`;
    const runs = this.about.directories.reduce((sum, each) => sum + each.runs, 0);
    const planned = this.about.directories.reduce((sum, each) => sum + each.planned, 0);
    const copy = el(
      "button",
      {
        type: "button",
        onclick: () => {
          void navigator.clipboard.writeText(location.href).then(() => {
            copy.textContent = "Copied";
            setTimeout(() => {
              copy.textContent = "Copy link";
            }, 1200);
          });
        },
      },
      "Copy link",
    );
    this.root.replaceChildren(
      el(
        "header",
        { class: "top" },
        el(
          "div",
          { class: "name" },
          el("span", { class: "brand" }, "Vazão"),
          el("h1", { title: one?.question ?? "" }, heading),
          el(
            "span",
            { class: "dim" },
            this.several ? this.about.directories.map((each) => each.label).join(", ") : (one?.path ?? ""),
            ` · ${integer(runs)} of ${integer(planned)} runs`,
          ),
        ),
        el(
          "div",
          { class: "actions" },
          this.counted,
          el(
            "button",
            { type: "button", class: "reset", onclick: () => this.change({ filters: [] }, true) },
            "Clear",
          ),
          copy,
          el(
            "button",
            {
              type: "button",
              "aria-label": "dark or light",
              title: "dark or light",
              onclick: () => this.theme(),
            },
            "◐",
          ),
        ),
      ),
      this.problem,
      el(
        "main",
        {},
        el(
          "aside",
          { class: "filters", "aria-label": "filters" },
          el("details", { open: innerWidth > 900 }, el("summary", {}, "Filters"), this.facets),
        ),
        el("section", { class: "centre" }, this.controls, this.chart, this.key, this.note, this.row),
        el("aside", { class: "side" }, this.tabs, this.panel),
      ),
    );
    this.root.removeAttribute("aria-busy");
  }

  private theme(): void {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  }

  /** Change what is seen; `anew`: the histograms and lists are made again, not only filled. */
  private change(changes: Partial<State>, anew = false): void {
    Object.assign(this.state, changes);
    if (changes.table || changes.part !== undefined) this.valid();
    history.replaceState(null, "", `#${written(this.state)}`);
    if (anew) this.rebuild();
    else this.refresh();
  }

  /** Change to other rows: another table, or another part of the study. */
  private async other(changes: Partial<State>): Promise<void> {
    const next = { ...this.state, ...changes };
    try {
      await this.look(next.table, next.part);
    } catch (error) {
      this.failed(error);
    }
    const measures = this.measures(next.table);
    const [x, color] = this.factors(next.part);
    const placed =
      changes.part !== undefined
        ? { x: x ?? null, color: color ?? null, facet: this.several ? "results" : null }
        : {};
    this.change(
      { ...changes, ...measures, ...placed, logX: false, logY: this.wide(measures.y), filters: [] },
      true,
    );
  }

  private rebuild(): void {
    this.cube = null;
    this.fresh = true;
    this.bounds.clear();
    this.showControls();
    this.strips = new Map(
      this.state.strips.map(({ column, log }) => [column, new Strip(column, log, this.listener)]),
    );
    const free = this.numbers().filter((one) => !this.strips.has(one.name));
    const add = el(
      "select",
      {
        class: "add",
        "aria-label": "add a histogram",
        onchange: () => {
          if (add.value)
            this.change({ strips: [...this.state.strips, { column: add.value, log: false }] }, true);
        },
      },
      el("option", { value: "" }, "+ histogram"),
      ...free.map((one) => el("option", { value: one.name }, title(one.name))),
    );
    this.row.replaceChildren(...[...this.strips.values()].map((one) => one.root), add);
    this.facets.replaceChildren();
    this.refresh();
    this.showTab();
  }

  private readonly listener = {
    begun: (column: string): void => this.begin(column),
    moved: (column: string, filter: Filter, from: number, to: number): void => {
      this.preview(column, from, to);
      this.state.filters = [...this.state.filters.filter((one) => one.column !== column), filter];
      this.drawMain();
    },
    rested: (column: string, filter: Filter | null): void => {
      const others = this.state.filters.filter((one) => one.column !== column);
      const limits = filter && (filter.low !== undefined || filter.high !== undefined);
      this.change({ filters: limits ? [...others, filter] : others });
    },
    removed: (column: string): void =>
      this.change(
        {
          strips: this.state.strips.filter((one) => one.column !== column),
          filters: this.state.filters.filter((one) => one.column !== column),
        },
        true,
      ),
    scaled: (column: string, log: boolean): void =>
      this.change(
        { strips: this.state.strips.map((one) => (one.column === column ? { column, log } : one)) },
        true,
      ),
  };

  private base(kind: Ask["kind"]): Ask {
    const { table, part, filters } = this.state;
    return { kind, table, filters, ...(part !== null ? { part } : {}) };
  }

  private dims(): Dimension[] {
    const strips = this.state.strips.map(({ column, log }) => ({ column, bins: BINS, log }));
    return [...strips, ...this.listed().map((column) => ({ column }))];
  }

  /** Columns whose values stand in lists: factors, and texts that tell rows apart. */
  private listed(): string[] {
    const more = ["transport", "cc", "stack", "app", "direction", "link", "path", "completed"].filter(
      (name) => this.columns().some((one) => one.name === name && one.of === this.state.table),
    );
    return [...new Set([...(this.several ? ["results"] : []), ...this.factors(), ...more])].slice(0, 20);
  }

  /** A brush begins: ask for the counts in each of its bins, of which a range's are then only sums. */
  private begin(column: string): void {
    const strip = this.state.strips.find((one) => one.column === column);
    if (!strip) return;
    const key = JSON.stringify([
      column,
      this.state.filters.filter((one) => one.column !== column),
      this.state.part,
      this.state.table,
      this.about.version,
    ]);
    if (this.cube?.key === key) return;
    this.cube = null;
    const dims = this.dims().filter((one) => one.column !== column);
    void ask({ ...this.base("counts"), dims, active: { column, bins: BINS, log: strip.log } }).then(
      (answer) => {
        this.cube = { column, answer, key };
      },
      this.failed,
    );
  }

  private preview(column: string, from: number, to: number): void {
    if (this.cube?.column !== column) return;
    const dims = this.dims().filter((one) => one.column !== column);
    dims.forEach((one, n) => {
      const counted = this.cube?.answer.dims[n];
      if (!counted) return;
      const found = sums(counted, from, to);
      if (one.bins) this.strips.get(one.column)?.show(found, this.cube?.answer.bins[one.column] ?? null);
      else this.list(one.column, found);
    });
  }

  private refresh(): void {
    this.drawMain();
    this.counting.run(async () => {
      try {
        const dims = this.dims();
        if (this.fresh && this.state.filters.length)
          this.fill(dims, await ask({ ...this.base("counts"), filters: [], dims }));
        this.fresh = false;
        const answer = await ask({ ...this.base("counts"), dims });
        this.fill(dims, answer);
        this.counted.textContent = `${integer(answer.rows)} ${this.state.table} of ${integer(answer.runs)} ${answer.runs === 1 ? "run" : "runs"}`;
        this.counted.dataset.rows = String(answer.rows);
      } catch (error) {
        this.failed(error);
      }
    });
  }

  private fill(dims: Dimension[], answer: Answer): void {
    dims.forEach((one, n) => {
      const counted = answer.dims[n];
      if (!counted) return;
      if (one.bins) {
        const strip = this.strips.get(one.column);
        strip?.show(sums(counted), answer.bins[one.column] ?? null);
        strip?.place(this.state.filters.find((each) => each.column === one.column));
      } else this.list(one.column, sums(counted));
    });
  }

  /** A list of values to tick, with how many rows each has. */
  private list(column: string, counts: Map<Value, number>): void {
    const known = this.bounds.get(column) ?? new Map<Value, number>();
    for (const [value, n] of counts) known.set(value, Math.max(n, known.get(value) ?? 0));
    this.bounds.set(column, known);
    let box = this.facets.querySelector<HTMLElement>(`[data-facet="${CSS.escape(column)}"]`);
    if (known.size < 2 || this.doubles(column, known)) {
      box?.remove();
      return;
    }
    const kept = this.state.filters.find((one) => one.column === column)?.values;
    const values = domain([...known.keys()], column, { order: this.order });
    if (!box) {
      box = el("fieldset", { "data-facet": column });
      const places = this.listed();
      const after = [...this.facets.children].find(
        (one) => places.indexOf((one as HTMLElement).dataset.facet ?? "") > places.indexOf(column),
      );
      this.facets.insertBefore(box, after ?? null);
    }
    if (box.childElementCount !== 2 || box.dataset.n !== String(values.length)) {
      box.dataset.n = String(values.length);
      const items = values.map((value) => {
        const input = el("input", {
          type: "checkbox",
          onchange: () => this.ticked(column, value, values, input.checked),
        });
        return el(
          "label",
          { class: "level" },
          input,
          el("span", { class: "text", title: label(value) }, label(value)),
          el("span", { class: "n" }),
          el("span", { class: "bar" }),
        );
      });
      const factor = this.about.directories.flatMap((one) => one.factors).find((one) => one.name === column);
      box.replaceChildren(
        el(
          "legend",
          {},
          el("span", { title: column }, factor?.title || title(column)),
          el("button", { type: "button", class: "quiet link", onclick: () => this.unfilter(column) }, "all"),
        ),
        el("div", { class: values.length > LISTED ? "levels long" : "levels" }, ...items),
      );
    }
    const most = Math.max(1, ...known.values());
    box.classList.toggle("on", kept !== undefined);
    box.querySelectorAll<HTMLElement>("label.level").forEach((item, n) => {
      const value = values[n] ?? null;
      const found = counts.get(value) ?? 0;
      const input = item.querySelector("input");
      if (input) input.checked = kept?.includes(value) ?? false;
      const [, number, bar] = item.querySelectorAll("span");
      if (number) number.textContent = integer(found);
      if (bar) bar.style.setProperty("--part", String(found / most));
    });
  }

  /** Whether a column says what a factor says already, as `cc` does where controls are compared. */
  private doubles(column: string, known: Map<Value, number>): boolean {
    const factors = this.factors();
    const said = (counts: Map<Value, number>): string =>
      JSON.stringify([...counts].map(([value, n]) => [label(value), n]).sort());
    return (
      !factors.includes(column) &&
      column !== "results" &&
      factors.some((name) => {
        const other = this.bounds.get(name);
        return other !== undefined && said(other) === said(known);
      })
    );
  }

  private ticked(column: string, value: Value, values: Value[], on: boolean): void {
    const kept = this.state.filters.find((one) => one.column === column)?.values;
    const chosen = on ? [...(kept ?? []), value] : (kept ?? []).filter((one) => one !== value);
    const others = this.state.filters.filter((one) => one.column !== column);
    this.change({
      filters:
        chosen.length && chosen.length < values.length ? [...others, { column, values: chosen }] : others,
    });
  }

  private unfilter(column: string): void {
    this.change({ filters: this.state.filters.filter((one) => one.column !== column) });
  }

  private async domain(column: string | null): Promise<Domain | null> {
    if (
      !column ||
      column === "results" ||
      this.columns().find((one) => one.name === column)?.kind !== "number"
    )
      return null;
    if (!this.domains.has(column)) {
      const answer = await ask({ ...this.base("domain"), dims: [{ column }] });
      this.domains.set(column, (answer.columns as unknown as Record<string, Domain | null>)[column] ?? null);
    }
    return this.domains.get(column) ?? null;
  }

  /** A column to group by: its numbers in bins where there are many. */
  private async dimension(column: string | null, log: boolean, bins = 30): Promise<Dimension | undefined> {
    if (!column) return undefined;
    const found = await this.domain(column);
    return found && found.distinct > MOST_LEVELS ? { column, bins, log } : { column };
  }

  private drawMain(): void {
    this.main.run(async () => {
      const state = { ...this.state, filters: this.state.filters };
      try {
        const question = await this.question(state);
        if (!question) {
          this.chart.replaceChildren(el("p", { class: "dim" }, "Choose columns to draw."));
          return;
        }
        const answer = await ask(question);
        this.drawn = { answer, drawn: marks(answer, state, this.several) };
        this.problem.hidden = true;
        this.redraw(state);
        if (this.tab !== "runs" && this.tab !== "findings") this.showTab();
      } catch (error) {
        this.failed(error);
      }
    });
  }

  private async question(state: State): Promise<Ask | null> {
    const one = this.base(state.kind);
    const series = {
      ...(state.color ? { color: state.color } : {}),
      ...(state.facet ? { facet: state.facet } : {}),
    };
    const x = await this.dimension(state.x, state.logX);
    if (!state.y) return null;
    switch (state.kind) {
      case "points":
        return x ? { ...one, ...series, x: { column: x.column }, y: { column: state.y }, limit: 4000 } : null;
      case "heat": {
        const y = await this.dimension(state.y, state.logY, 32);
        return x && y
          ? { ...one, x: x.bins ? { ...x, bins: 40 } : x, y, ...(state.z ? { z: state.z } : {}) }
          : null;
      }
      case "hist":
        return { ...one, ...series, y: { column: state.y, bins: 60, log: state.logX } };
      case "ecdf":
        return { ...one, ...series, y: { column: state.y } };
      default:
        return { ...one, ...series, ...(x ? { x } : {}), y: { column: state.y } };
    }
  }

  private redraw(state: State = this.state): void {
    if (!this.drawn) return;
    const { drawn, answer } = this.drawn;
    const width = Math.max(280, this.chart.clientWidth);
    const height = width < 520 ? 320 : Math.max(300, Math.min(560, innerHeight - 448));
    const place: Place = { width, height, order: this.order, picked: (mark) => this.pick(mark) };
    const empty = !drawn.marks.length;
    this.chart.replaceChildren(
      empty
        ? el("p", { class: "dim empty" }, "No row is left: clear a filter, or choose another column.")
        : draw(drawn, answer, state, place),
    );
    const entries =
      drawn.series.length > 1 && state.kind !== "heat" ? legend(drawn.series, state, place) : [];
    this.key.replaceChildren(
      ...entries.map(([name, color]) => {
        const swatch = el("i", {});
        swatch.style.background = color;
        return el("span", {}, swatch, name);
      }),
    );
    const notes: string[] = [];
    if (drawn.left)
      notes.push(`${drawn.left} more series are not drawn: filter, or colour by another column.`);
    if (drawn.series.length > 8) notes.push("Colours repeat after eight series.");
    const shown = Number(this.counted.dataset.rows ?? 0);
    if (state.kind === "points" && drawn.marks.length >= 4000)
      notes.push(`4 000 of ${integer(shown)} rows are drawn, always the same ones.`);
    if (answer.truncated)
      notes.push("More groups than are told: filter, or choose a column with fewer values.");
    if (state.kind === "mean") notes.push("Means of runs (a run’s rows count once) with 95 % t-intervals.");
    if (state.kind === "box") notes.push("Box: quartiles and median of rows; line: 5 % to 95 %.");
    this.note.textContent = notes.join(" ");
  }

  private pick(mark: Mark): void {
    this.tab = "runs";
    this.behind.run(async () => {
      try {
        const { x, y, z, kind } = this.state;
        const own = mark.run ? [{ column: "run_id", values: [mark.run] }] : [];
        const filters = [...this.state.filters, ...mark.at, ...own];
        this.picked = await ask({
          ...this.base("runs"),
          filters,
          ...(x ? { x: { column: x } } : {}),
          ...(y ? { y: { column: y } } : {}),
          ...(kind === "heat" && z ? { z } : {}),
        });
        this.showTab();
        if (innerWidth < 900) this.panel.scrollIntoView({ behavior: "smooth" });
      } catch (error) {
        this.failed(error);
      }
    });
  }

  private showControls(): void {
    const { kind, table, part, x, y, z, color, facet, logX, logY } = this.state;
    const every = [
      ...(this.several ? ["results"] : []),
      ...new Set([
        ...this.factors(),
        ...this.columns()
          .filter((one) => one.name !== "run_id")
          .map((one) => one.name),
      ]),
    ].filter((name) => name === "results" || this.columns().some((one) => one.name === name));
    const options = (names: string[], none?: string): [string, string][] => [
      ...(none !== undefined ? [["", none] as [string, string]] : []),
      ...names.map((name): [string, string] => [name, title(name)]),
    ];
    const measures = this.numbers().map((one) => one.name);
    const set =
      (key: keyof State) =>
      (value: string): void =>
        this.change({ [key]: value || null } as Partial<State>, false);
    const group = every.filter(
      (name) =>
        name === "results" ||
        this.factors().includes(name) ||
        this.columns().find((one) => one.name === name)?.kind !== "number",
    );
    const views = el(
      "div",
      { class: "kinds", role: "radiogroup", "aria-label": "kind of view" },
      ...KINDS.map(([one, text]) =>
        el(
          "button",
          {
            type: "button",
            role: "radio",
            "aria-checked": one === kind ? "true" : "false",
            onclick: () => this.kind(one),
          },
          text,
        ),
      ),
    );
    const distribution = kind === "hist" || kind === "ecdf";
    const tables = Object.keys(this.about.tables).map((name): [string, string] => [name, name]);
    const parts = this.parts();
    const scales = el(
      "div",
      { class: "scales" },
      tick("log x", logX, (on) => this.change({ logX: on })),
      kind === "ecdf" ? null : tick("log y", logY, (on) => this.change({ logY: on })),
    );
    this.controls.replaceChildren(
      el("div", { class: "views" }, views, scales),
      el(
        "div",
        { class: "choices" },
        ...[
          choice("rows", tables, table, (value) => void this.other({ table: value as TableName })),
          parts.length > 1
            ? choice("part", parts, part ?? "", (value) => void this.other({ part: value }))
            : null,
          choice(
            kind === "heat" ? "y" : "measure",
            options(kind === "heat" ? every : measures),
            y ?? "",
            (value) => void this.measure(value),
          ),
          kind === "heat" ? choice("colour", options(measures, "number of rows"), z ?? "", set("z")) : null,
          distribution
            ? null
            : choice("x", options(every, kind === "points" ? undefined : "–"), x ?? "", set("x")),
          kind === "heat" ? null : choice("colour", options(group, "–"), color ?? "", set("color")),
          kind === "heat" ? null : choice("side by side", options(group, "–"), facet ?? "", set("facet")),
        ].filter((one) => one !== null),
      ),
    );
  }

  /** Draw another measure, on a logarithmic scale where its numbers are far apart. */
  private async measure(y: string): Promise<void> {
    try {
      await this.domain(y);
    } catch (error) {
      this.failed(error);
    }
    this.change({ y, ...(this.state.kind === "heat" ? {} : { logY: this.wide(y) }) });
    this.showControls();
  }

  private kind(kind: Kind): void {
    const [first, second] = this.factors();
    const more: Partial<State> = {};
    if (kind === "heat")
      Object.assign(more, {
        x: this.state.x ?? first ?? null,
        z: this.state.z ?? this.state.y,
        y: this.state.color ?? second ?? this.state.y,
      });
    if (this.state.kind === "heat" && kind !== "heat")
      more.y = this.state.z ?? this.measures(this.state.table).y;
    if (kind === "points" && !this.numbers().some((one) => one.name === this.state.x))
      more.x =
        FIRST.find((name) => name !== this.state.y && this.numbers().some((one) => one.name === name)) ??
        null;
    if (this.state.kind === "points" && kind !== "points") more.x = first ?? null;
    const next = { ...this.state, ...more };
    if (kind === "hist" || kind === "ecdf") Object.assign(more, { logX: this.wide(next.y), logY: false });
    else Object.assign(more, { logX: this.wide(next.x), logY: this.wide(next.y) });
    this.change({ kind, ...more });
    this.showControls();
  }

  private showTab(): void {
    const names: [Tab, string][] = [
      ["findings", "Findings"],
      ["numbers", "Numbers"],
      ["runs", "Runs"],
      ["sql", "SQL"],
    ];
    this.tabs.replaceChildren(
      ...names.map(([tab, text]) =>
        el(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": tab === this.tab ? "true" : "false",
            onclick: () => {
              this.tab = tab;
              this.showTab();
            },
          },
          text,
        ),
      ),
    );
    const wait = el("p", { class: "dim" }, "…");
    const shown: Record<Tab, () => HTMLElement> = {
      findings: () =>
        this.ledgers
          ? side.findings(this.ledgers, this.about.directories, (figure) => this.jump(figure))
          : wait,
      numbers: () =>
        this.drawn ? side.numbers(this.drawn.drawn.marks, this.state, (mark) => this.pick(mark)) : wait,
      runs: () =>
        this.picked
          ? side.runs(this.picked)
          : el("p", { class: "dim" }, "Click a point, a box or a cell: the runs behind it stand here."),
      sql: () =>
        this.drawn
          ? side.sql(
              this.tab === "sql" && this.picked
                ? [...this.drawn.answer.sql, ...this.picked.sql]
                : this.drawn.answer.sql,
              this.drawn.answer.ms,
            )
          : wait,
    };
    this.panel.replaceChildren(shown[this.tab]());
  }

  /** A way to a figure's columns, where the tables have them. */
  private jump(figure: Figure): (() => void) | null {
    const tables = (Object.keys(this.about.tables) as TableName[]).filter((table) => {
      const known = this.columns(table).map((one) => one.name);
      return known.includes(figure.x) && known.includes(figure.y);
    });
    const table = tables.includes(this.state.table) ? this.state.table : tables[0];
    if (!table) return null;
    const known = (name: string | null): string | null =>
      name && this.columns(table).some((one) => one.name === name) ? name : null;
    const kinds: Record<string, Kind> = { point: "points", box: "box", ecdf: "ecdf", heat: "heat" };
    return () => {
      if (table !== this.state.table) this.change({ table, ...this.measures(table), filters: [] }, true);
      this.change({
        kind: kinds[figure.kind] ?? "mean",
        x: figure.x,
        y: figure.y,
        color: known(figure.color),
        facet: known(figure.facet),
        logX: figure.x_scale === "log",
        logY: figure.y_scale === "log",
      });
      this.showControls();
    };
  }

  /** A running campaign has more rows now and then. */
  private async watch(): Promise<void> {
    if (document.hidden) return;
    try {
      const { version } = await tell<{ version: string }>("/api/version");
      if (version === this.about.version) return;
      this.about = await tell<About>("/api/about");
      this.domains.clear();
      this.rebuild();
    } catch {
      /* The server has ended, or is busy: what is seen stays. */
    }
  }

  private readonly failed = (error: unknown): void => {
    this.problem.textContent =
      error instanceof Refused
        ? error.message
        : "The server does not answer; is `vazao explore` still running?";
    this.problem.hidden = false;
  };
}

async function begin(): Promise<void> {
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
