/** State of the page in its address, as JSON after `#`, so that a link restores it. */

import type { Ask, Filter, Kind, TableName, Value } from "./types";

export interface State {
  table: TableName;
  part: string | null;
  kind: Kind;
  x: string | null;
  y: string | null;
  z: string | null;
  color: string | null;
  facet: string | null;
  logX: boolean;
  logY: boolean;
  filters: Filter[];
  strips: { column: string; log: boolean }[];
}

export const KINDS: readonly [Kind, string][] = [
  ["mean", "Mean ± 95 %"],
  ["points", "Points"],
  ["heat", "Heat map"],
  ["box", "Box"],
  ["ecdf", "ECDF"],
  ["hist", "Histogram"],
];

const TABLES = ["runs", "flows", "paths", "links"];

/** Query about the rows that are shown, for a kind of view to complete. */
export function base({ table, part, filters }: State, kind: Ask["kind"]): Ask {
  return { kind, table, filters, ...(part !== null ? { part } : {}) };
}

/** Encodes a state as the text after `#`. */
export function written(state: State): string {
  return encodeURIComponent(JSON.stringify(state)).replace(/%(22|2C|3A|5B|5D|7B|7D)/g, (all) =>
    decodeURIComponent(all),
  );
}

/** Parses the text after `#`; values that are missing or of the wrong type come from `otherwise`. */
export function read(text: string, otherwise: State): State {
  let parsed: unknown;
  try {
    parsed = JSON.parse(decodeURIComponent(text));
  } catch {
    return otherwise;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return otherwise;
  const given = parsed as Record<string, unknown>;
  const name = (key: keyof State): string | null => {
    const value = given[key];
    return typeof value === "string" || value === null ? value : (otherwise[key] as string | null);
  };
  const flag = (key: keyof State): boolean =>
    typeof given[key] === "boolean" ? given[key] : (otherwise[key] as boolean);
  const kind = KINDS.some(([one]) => one === given.kind) ? (given.kind as Kind) : otherwise.kind;
  const table = TABLES.includes(given.table as string) ? (given.table as TableName) : otherwise.table;
  return {
    table,
    kind,
    part: name("part"),
    x: name("x"),
    y: name("y"),
    z: name("z"),
    color: name("color"),
    facet: name("facet"),
    logX: flag("logX"),
    logY: flag("logY"),
    filters: Array.isArray(given.filters) ? given.filters.flatMap(filter) : otherwise.filters,
    strips: Array.isArray(given.strips) ? given.strips.flatMap(strip) : otherwise.strips,
  };
}

function filter(given: unknown): Filter[] {
  if (typeof given !== "object" || given === null) return [];
  const { column, values, low, high } = given as Record<string, unknown>;
  if (typeof column !== "string") return [];
  const kept: Filter = { column };
  if (Array.isArray(values) && values.every(isValue)) kept.values = values;
  if (typeof low === "number") kept.low = low;
  if (typeof high === "number") kept.high = high;
  return [kept];
}

function strip(given: unknown): { column: string; log: boolean }[] {
  if (typeof given !== "object" || given === null) return [];
  const { column, log } = given as Record<string, unknown>;
  return typeof column === "string" ? [{ column, log: log === true }] : [];
}

function isValue(value: unknown): value is Value {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
