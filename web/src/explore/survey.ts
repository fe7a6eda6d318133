/** Survey of what can be shown: tables, columns, factors and parts of the results, and the view's initial state. */

import { ask } from "./server";
import { base, type State } from "./state";
import type { About, Column, Dimension, Domain, TableName, Value } from "./types";

const MOST_LEVELS = 40;
const WIDE = 300;
const STRIPS = 7;
/** Measures that are shown first, if the results have them. */
export const FIRST = [
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

/** Columns that identify a row's flow: the number of its `[[flow]]` table, and its own number. */
const RIVALS = ["group", "flow"];

export class Survey {
  private domains = new Map<string, Domain | null>();

  constructor(public about: About) {}

  /** Loads the domains of the columns that are shown first, so that constant ones can be left out. */
  async look(table: TableName, part: string | null): Promise<void> {
    const names = [...FIRST, ...RIVALS].filter((name) =>
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

  /** Updates the survey with what a running campaign has now. */
  renew(about: About): void {
    this.about = about;
    // The flows are known from the first runs: their domains stay.
    this.domains = new Map([...this.domains].filter(([name]) => RIVALS.includes(name)));
  }

  /** Whether a column's values are positive and far apart. */
  wide(column: string | null): boolean {
    const found = column ? this.domains.get(column) : null;
    return Boolean(found && found.low > 0 && found.high > WIDE * found.low);
  }

  /** Whether several directories are compared. */
  get several(): boolean {
    return this.about.directories.length > 1;
  }

  columns(table: TableName): Column[] {
    return this.about.tables[table] ?? [];
  }

  /** Columns whose values are numbers or flags. */
  numbers(table: TableName): Column[] {
    return this.columns(table).filter((one) => one.kind !== "text" && one.name !== "run_id");
  }

  /** Labels of a factor, in its order. */
  readonly order = (column: string): Value[] => {
    if (column === "results") return this.about.directories.map((one) => one.label);
    return this.about.directories.flatMap(
      (one) => one.factors.find((factor) => factor.name === column)?.labels ?? [],
    );
  };

  /** Factors of a part; all factors if none are known for it. */
  factors(part: string | null): string[] {
    const named = this.about.directories.flatMap((one) =>
      one.parts.filter((each) => each.name === part).flatMap((each) => each.factors),
    );
    const all = this.about.directories.flatMap((one) => one.factors.map((factor) => factor.name));
    return [...new Set(named.length ? named : all)];
  }

  /** Columns that separate unlike flows, the coarsest first; none if there is one flow or more than `MOST_LEVELS`. */
  rivals(table: TableName): string[] {
    return RIVALS.filter((name) => {
      const found = this.domains.get(name)?.distinct ?? 0;
      return found > 1 && found <= MOST_LEVELS && this.columns(table).some((one) => one.name === name);
    });
  }

  /** Factors whose levels the view pools into one mark. */
  pooled({ table, part, kind, x, y, color, facet, filters }: State): string[] {
    if (kind === "points") return [];
    const axis = kind === "hist" || kind === "ecdf" ? null : x;
    const apart = [axis, color, facet, kind === "heat" ? y : null];
    const one = filters.filter((each) => each.values?.length === 1).map((each) => each.column);
    const mixed = (name: string): boolean => !apart.includes(name) && !one.includes(name);
    const rivals = this.rivals(table);
    return [
      ...this.factors(part).filter((name) => this.order(name).length > 1 && mixed(name)),
      ...(rivals.every(mixed) ? rivals.slice(0, 1) : []),
    ];
  }

  /** Factors of a part as axes of a view, those with the most levels first. */
  axes(part: string | null): string[] {
    const levels = (name: string): number => new Set(this.order(name)).size;
    return [...this.factors(part)].sort((a, b) => levels(b) - levels(a));
  }

  /** Parts of the study, as name and title. */
  parts(): [string, string][] {
    const found = new Map(
      this.about.directories.flatMap((one) =>
        one.parts.map((part): [string, string] => [part.name, part.title || part.name]),
      ),
    );
    return [...found];
  }

  /** Initial state, before any choice. */
  first(table: TableName): State {
    const part = this.parts()[0]?.[0] ?? null;
    const [x, color] = this.axes(part);
    const measures = this.measures(table);
    const rivals = this.rivals(table)[0] ?? null;
    return {
      table,
      part,
      kind: "mean",
      logX: false,
      logY: this.wide(measures.y),
      filters: [],
      facet: this.several ? "results" : color ? rivals : null,
      ...measures,
      x: x ?? ["flow", "link"].find((name) => this.columns(table).some((one) => one.name === name)) ?? null,
      // A mean over unlike flows describes none of them.
      color: color ?? (x ? rivals : null),
    };
  }

  /** Initial measures of a table's view. */
  measures(table: TableName): { y: string | null; z: string | null; strips: State["strips"] } {
    const names = this.numbers(table).map((one) => one.name);
    const isConstant = (name: string): boolean =>
      this.domains.has(name) && (this.domains.get(name)?.distinct ?? 0) < 2;
    const wanted = FIRST.filter((name) => names.includes(name) && !isConstant(name));
    const y = wanted[0] ?? names[0] ?? null;
    return {
      y,
      z: y,
      strips: (wanted.length ? wanted : names)
        .slice(0, STRIPS)
        .map((column) => ({ column, log: this.wide(column) })),
    };
  }

  /** Removes columns and parts that do not exist here from a state, such as a link's. */
  valid(state: State): void {
    const known = new Set([...this.columns(state.table).map((one) => one.name), "results"]);
    const kept = (name: string | null): string | null => (name !== null && known.has(name) ? name : null);
    const { x, y, z, color, facet, filters, strips, part } = state;
    Object.assign(state, {
      x: kept(x),
      z: kept(z),
      color: kept(color),
      facet: kept(facet),
      y: kept(y) ?? this.measures(state.table).y,
      filters: filters.filter((one) => known.has(one.column)),
      strips: strips.filter((one) => known.has(one.column)),
      part: this.parts().some(([name]) => name === part) ? part : (this.parts()[0]?.[0] ?? null),
    });
  }

  /** Columns whose values are listed as filters: factors, and text columns that distinguish rows. */
  listed(state: State): string[] {
    const more = [
      ...this.rivals(state.table),
      "transport",
      "cc",
      "stack",
      "app",
      "direction",
      "link",
      "path",
      "completed",
    ].filter((name) => this.columns(state.table).some((one) => one.name === name && one.of === state.table));
    return [...new Set([...(this.several ? ["results"] : []), ...this.factors(state.part), ...more])].slice(
      0,
      20,
    );
  }

  /** Domain of a numeric column: its least and largest value, and how many there are; null for other columns. */
  async domain(column: string | null, state: State): Promise<Domain | null> {
    if (
      !column ||
      column === "results" ||
      this.columns(state.table).find((one) => one.name === column)?.kind !== "number"
    )
      return null;
    const { domains } = this; // Domains of other rows may replace these before the answer arrives.
    if (!domains.has(column)) {
      const answer = await ask({ ...base(state, "domain"), dims: [{ column }] });
      domains.set(column, (answer.columns as unknown as Record<string, Domain | null>)[column] ?? null);
    }
    return domains.get(column) ?? null;
  }

  /** Column to group by, in bins if it has many numbers. */
  async dimension(
    column: string | null,
    state: State,
    log: boolean,
    bins = 30,
  ): Promise<Dimension | undefined> {
    if (!column) return undefined;
    const found = await this.domain(column, state);
    return found && found.distinct > MOST_LEVELS ? { column, bins, log } : { column };
  }
}
