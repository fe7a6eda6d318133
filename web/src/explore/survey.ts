/** A survey of what can be seen: tables, columns, factors and parts of the results, and what a view begins with. */

import { ask } from "./server";
import { base, type State } from "./state";
import type { About, Column, Dimension, Domain, TableName, Value } from "./types";

const MOST_LEVELS = 40;
const WIDE = 300;
const STRIPS = 7;
/** Measures that are shown first, where there are such. */
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

/** Columns that say of which flow a row is: number of its `[[flow]]` table, its own number. */
const RIVALS = ["group", "flow"];

export class Survey {
  private domains = new Map<string, Domain | null>();

  constructor(public about: About) {}

  /** Learn the domains of the columns that are shown first, so that those that say nothing are left out. */
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

  /** Take in what a running campaign has now. */
  renew(about: About): void {
    this.about = about;
    // Which flows there are is known from the first runs.
    this.domains = new Map([...this.domains].filter(([name]) => RIVALS.includes(name)));
  }

  /** Whether a column's numbers are positive and far apart. */
  wide(column: string | null): boolean {
    const found = column ? this.domains.get(column) : null;
    return Boolean(found && found.low > 0 && found.high > WIDE * found.low);
  }

  /** Whether several directories are beside each other. */
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

  /** The labels of a factor, in its order. */
  readonly order = (column: string): Value[] => {
    if (column === "results") return this.about.directories.map((one) => one.label);
    return this.about.directories.flatMap(
      (one) => one.factors.find((factor) => factor.name === column)?.labels ?? [],
    );
  };

  /** The factors of a part, those that have no number's double first. */
  factors(part: string | null): string[] {
    const named = this.about.directories.flatMap((one) =>
      one.parts.filter((each) => each.name === part).flatMap((each) => each.factors),
    );
    const all = this.about.directories.flatMap((one) => one.factors.map((factor) => factor.name));
    return [...new Set(named.length ? named : all)];
  }

  /** The columns that keep flows apart that are not alike, the coarsest first; none where there is one flow, or many. */
  rivals(table: TableName): string[] {
    return RIVALS.filter((name) => {
      const found = this.domains.get(name)?.distinct ?? 0;
      return found > 1 && found <= MOST_LEVELS && this.columns(table).some((one) => one.name === name);
    });
  }

  /** Factors whose levels are together in one mark of the view. */
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

  /** The factors of a part as axes of a view: those with the most levels first. */
  axes(part: string | null): string[] {
    const levels = (name: string): number => new Set(this.order(name)).size;
    return [...this.factors(part)].sort((a, b) => levels(b) - levels(a));
  }

  /** Parts of the study, by name and title. */
  parts(): [string, string][] {
    const found = new Map(
      this.about.directories.flatMap((one) =>
        one.parts.map((part): [string, string] => [part.name, part.title || part.name]),
      ),
    );
    return [...found];
  }

  /** The state before anybody chose. */
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
      // A mean over rivals is nobody's.
      color: color ?? (x ? rivals : null),
    };
  }

  /** The measures that a table's view begins with. */
  measures(table: TableName): { y: string | null; z: string | null; strips: State["strips"] } {
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

  /** Columns whose values stand in lists: factors, and texts that tell rows apart. */
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

  /** A column's numbers: the least, the largest, and how many there are. */
  async domain(column: string | null, state: State): Promise<Domain | null> {
    if (
      !column ||
      column === "results" ||
      this.columns(state.table).find((one) => one.name === column)?.kind !== "number"
    )
      return null;
    const { domains } = this; // Those of other rows may take their place before the answer is here.
    if (!domains.has(column)) {
      const answer = await ask({ ...base(state, "domain"), dims: [{ column }] });
      domains.set(column, (answer.columns as unknown as Record<string, Domain | null>)[column] ?? null);
    }
    return domains.get(column) ?? null;
  }

  /** A column to group by: its numbers in bins where there are many. */
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
