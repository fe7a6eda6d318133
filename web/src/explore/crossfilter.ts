/** Histograms and lists that filter each other; while one is brushed, the others follow without a request. */

import { el } from "../dom";
import { integer } from "../format";
import { sums } from "./binning";
import { title } from "./columns";
import type { Desk } from "./desk";
import { Facets } from "./facets";
import { ask, Latest } from "./server";
import { base } from "./state";
import { Strip } from "./strip";
import type { Answer, Dimension, Filter } from "./types";

const BINS = 50;

export class Crossfilter {
  readonly row = el("div", { class: "strips" });
  readonly counted = el("span", { class: "counted" });
  readonly facets: Facets;
  private strips = new Map<string, Strip>();
  private cube: { column: string; answer: Answer; key: string } | null = null;
  /** Key of the cube that the brush needs: the answer to an older brush may arrive later. */
  private wanted = "";
  /** Bins that the brush covers, which may be known before the cube is. */
  private covered: [number, number] | null = null;
  private fresh = true;
  private readonly counting = new Latest();

  /** `drawAgain` is called while a brush moves. */
  constructor(
    private readonly desk: Desk,
    private readonly drawAgain: () => void,
  ) {
    this.facets = new Facets(desk);
  }

  /** Discards all counts, because there are more rows now. */
  renew(): void {
    this.cube = null;
    this.wanted = "";
    this.fresh = true;
    for (const strip of this.strips.values()) strip.forget();
  }

  /** Rebuilds the histograms and lists; `count` fills them. */
  rebuild(): void {
    this.renew();
    this.facets.clear();
    this.strips = new Map(
      this.desk.state.strips.map(({ column, log }) => [column, new Strip(column, log, this.listener)]),
    );
    const free = this.desk.survey.numbers(this.desk.state.table).filter((one) => !this.strips.has(one.name));
    const add = el(
      "select",
      {
        class: "add",
        "aria-label": "add a histogram",
        onchange: () => {
          if (add.value)
            this.desk.change(
              { strips: [...this.desk.state.strips, { column: add.value, log: false }] },
              "all",
            );
        },
      },
      el("option", { value: "" }, "+ histogram"),
      ...free.map((one) => el("option", { value: one.name }, title(one.name))),
    );
    this.row.replaceChildren(...[...this.strips.values()].map((one) => one.root), add);
  }

  private readonly listener = {
    begun: (column: string): void => this.begin(column),
    moved: (column: string, filter: Filter, from: number, to: number): void => {
      this.covered = [from, to];
      this.preview(column);
      this.desk.state.filters = [...this.desk.state.filters.filter((one) => one.column !== column), filter];
      this.drawAgain();
    },
    rested: (column: string, filter: Filter | null): void => {
      this.covered = null;
      const others = this.desk.state.filters.filter((one) => one.column !== column);
      const limits = filter && (filter.low !== undefined || filter.high !== undefined);
      this.desk.change({ filters: limits ? [...others, filter] : others });
    },
    removed: (column: string): void =>
      this.desk.change(
        {
          strips: this.desk.state.strips.filter((one) => one.column !== column),
          filters: this.desk.state.filters.filter((one) => one.column !== column),
        },
        "all",
      ),
    scaled: (column: string, log: boolean): void =>
      this.desk.change(
        { strips: this.desk.state.strips.map((one) => (one.column === column ? { column, log } : one)) },
        "all",
      ),
  };

  private dims(): Dimension[] {
    const strips = this.desk.state.strips.map(({ column, log }) => ({ column, bins: BINS, log }));
    return [...strips, ...this.desk.survey.listed(this.desk.state).map((column) => ({ column }))];
  }

  /** Starts a brush: requests the counts for each of its bins, whose sums are the counts for any range. */
  private begin(column: string): void {
    const strip = this.desk.state.strips.find((one) => one.column === column);
    if (!strip) return;
    const key = JSON.stringify([
      column,
      this.desk.state.filters.filter((one) => one.column !== column),
      this.desk.state.part,
      this.desk.state.table,
      this.desk.survey.about.version,
    ]);
    this.covered = null;
    this.wanted = key;
    if (this.cube?.key === key) return;
    this.cube = null;
    const dims = this.dims().filter((one) => one.column !== column);
    void ask({
      ...base(this.desk.state, "counts"),
      dims,
      active: { column, bins: BINS, log: strip.log },
    }).then(
      (answer) => {
        if (this.wanted !== key) return;
        this.cube = { column, answer, key };
        this.preview(column);
      },
      (error) => this.desk.failed(error),
    );
  }

  private preview(column: string): void {
    if (this.cube?.column !== column || !this.covered) return;
    const [from, to] = this.covered;
    const dims = this.dims().filter((one) => one.column !== column);
    dims.forEach((one, n) => {
      const counted = this.cube?.answer.dims[n];
      if (!counted) return;
      const found = sums(counted, from, to);
      if (one.bins) this.strips.get(one.column)?.show(found, this.cube?.answer.bins[one.column] ?? null);
      else this.facets.list(one.column, found);
    });
  }

  count(): void {
    this.counting.run(async () => {
      try {
        const dims = this.dims();
        if (this.fresh && this.desk.state.filters.length)
          this.fill(dims, await ask({ ...base(this.desk.state, "counts"), filters: [], dims }));
        this.fresh = false;
        const answer = await ask({ ...base(this.desk.state, "counts"), dims });
        this.fill(dims, answer);
        // This answer does not include the brush that moves meanwhile.
        if (this.cube && this.covered) this.preview(this.cube.column);
        this.counted.textContent = `${integer(answer.rows)} ${this.desk.state.table} of ${integer(answer.runs)} ${answer.runs === 1 ? "run" : "runs"}`;
        this.counted.dataset.rows = String(answer.rows);
      } catch (error) {
        this.desk.failed(error);
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
        strip?.place(this.desk.state.filters.find((each) => each.column === one.column));
      } else this.facets.list(one.column, sums(counted));
    });
  }
}
