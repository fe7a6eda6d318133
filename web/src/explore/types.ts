/** Queries to the server and its answers; `python/vazao/explore/queries.py` and `answers.py` are the other side. */

export type Value = string | number | boolean | null;
export type Kind = "mean" | "points" | "heat" | "box" | "ecdf" | "hist";
export type TableName = "runs" | "flows" | "paths" | "links";

export interface Column {
  name: string;
  kind: "number" | "text" | "flag";
  of: string;
}
export interface Factor {
  name: string;
  title: string;
  labels: Value[];
}
export interface Part {
  name: string;
  title: string;
  factors: string[];
}
export interface Figure {
  id: string;
  title: string;
  kind: string;
  x: string;
  y: string;
  color: string | null;
  facet: string | null;
  finding: string[];
  x_scale: string;
  y_scale: string;
}
export interface Directory {
  label: string;
  path: string;
  kind: string;
  title: string;
  question: string;
  runs: number;
  planned: number;
  size: string;
  parts: Part[];
  factors: Factor[];
  figures: Figure[];
}
export interface About {
  directories: Directory[];
  tables: Partial<Record<TableName, Column[]>>;
  version: string;
}

export interface Filter {
  column: string;
  values?: Value[];
  low?: number;
  high?: number;
}
export interface Dimension {
  column: string;
  bins?: number;
  log?: boolean;
}
export interface Ask {
  kind: Kind | "counts" | "runs" | "domain";
  table: TableName;
  part?: string;
  filters?: Filter[];
  x?: Dimension;
  y?: Dimension;
  z?: string;
  color?: string;
  facet?: string;
  dims?: Dimension[];
  active?: Dimension;
  limit?: number;
}

export interface Bins {
  low: number;
  high: number;
  bins: number;
  log: boolean;
}
export type Columns = Record<string, Value[]>;
export interface Counted {
  results: string[];
  v: Value[];
  n: number[];
  a: (number | null)[];
}
export interface Statement {
  results: string;
  path: string;
  sql: string;
}
export interface Answer {
  sql: Statement[];
  truncated: boolean;
  bins: Record<string, Bins | null>;
  version: string;
  ms: number;
  columns: Columns;
  dims: Counted[];
  rows: number;
  runs: number;
}
export interface Domain {
  low: number;
  high: number;
  distinct: number;
  whole: boolean;
}

export interface Finding {
  id: string;
  claim: string;
  reported: string;
  per: string | null;
  level: string | null;
  verdict: string;
  measured: string;
  explanation: string;
  criterion: string;
  figures: { id: string; title: string }[];
}
export interface Ledger {
  label: string;
  ledger: Finding[];
  error?: string;
}
