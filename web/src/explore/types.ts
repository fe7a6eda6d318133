import type { Ask, Dimension, Filter } from "../contract";

/** Answers of the server: `python/vazao/explore/answers.py` is the other side. */

export type { Ask, Dimension, Filter };

export type Value = string | number | boolean | null;
export type Kind = Exclude<Ask["kind"], "counts" | "runs" | "domain">;
export type TableName = Ask["table"];

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
