/** Written by `python web/tools/contract.py`: what the engine and the explorer's server send. */

export interface Entry {
  name: string;
  aliases: string[];
  title: string;
  source: string;
  help: string;
  parameters: Parameter[];
  first?: string[];
  hidden?: string[];
  sequence?: string;
  datagrams?: boolean;
  usual?: boolean;
  settings?: Setting[];
  host?: boolean;
  plain?: string | null;
  links?: LinkKey[];
}

export interface Parameter {
  name: string;
  default: string;
  required: boolean;
  expected: string;
  help: string;
  example: string | number | number[] | null;
}

export interface Setting {
  name: string;
  value: string;
  control: string | null;
  help: string;
}

export interface LinkKey {
  key: string;
  noun: string;
  count: "one" | "many" | "each" | "named";
  each: string | null;
}

export interface Header {
  run_id: string;
  name: string;
  engine: string;
  end_ns: number;
  packets: Kept;
  flows: Flow[];
  nodes: NetworkNode[];
  links: Link[];
  interfaces?: string[];
  measures: Measure[];
  states: string[];
  reasons: string[];
  series: SeriesEntry[];
  sections: Record<string, Section>;
  observed?: Observed;
}

export interface Kept {
  kept: number;
  all: number;
}

export interface Flow {
  client: string;
  server: string;
  transport: string;
  sequence?: string;
  full?: number;
  cc: string;
  app: string;
  sender: number;
  start_ns: number;
  connection?: number;
  seen_from?: string;
}

export interface NetworkNode {
  name: string;
  kind: "host" | "router";
  x: number;
  y: number;
}

export interface Link {
  name: string;
  forward: boolean;
  direction: string;
  from: string;
  to: string;
  rate_bps: number | null;
  delay_ns: number | null;
  key?: string;
  index?: number;
}

export interface Measure {
  name: string;
  title: string;
  unit: string;
  line?: boolean;
  values?: string[];
}

export interface SeriesEntry {
  measure: string;
  flow?: number;
  path?: number;
  start: number;
  count: number;
  link?: number;
}

export interface Section {
  type: string;
  at: number;
  count: number;
}

export interface Observed {
  captures: string[];
  begin_s: number;
  notes: string[];
  between?: Between;
}

export interface Between {
  ahead_ns: number;
  least_ns: number | null;
  lost: number;
  unknown: number;
  strangers: number;
}

export interface Filter {
  column: string;
  values?: (string | number | boolean | null)[];
  low?: number;
  high?: number;
}

export interface Dimension {
  column: string;
  bins?: number;
  log?: boolean;
}

export interface Ask {
  kind: "mean" | "points" | "heat" | "box" | "ecdf" | "hist" | "counts" | "runs" | "domain";
  table: "runs" | "flows" | "paths" | "links";
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

export interface Column {
  name: string;
  kind: "number" | "text" | "flag";
  of: string;
}

export interface Factor {
  name: string;
  title: string;
  labels: (string | number | boolean | null)[];
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
  tables: Record<string, Column[]>;
  version: string;
}

export interface Bins {
  low: number;
  high: number;
  bins: number;
  log: boolean;
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
}

export interface Rows {
  sql: Statement[];
  truncated: boolean;
  bins: Record<string, Bins | null>;
  version: string;
  ms: number;
  columns: Record<string, (string | number | boolean | null)[]>;
}

export interface Counted {
  results: string[];
  v: (string | number | boolean | null)[];
  n: number[];
  a: (number | null)[];
}

export interface Counts {
  sql: Statement[];
  truncated: boolean;
  bins: Record<string, Bins | null>;
  version: string;
  ms: number;
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

export interface Shown {
  id: string;
  title: string;
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
  figures: Shown[];
}

export interface Ledger {
  label: string;
  ledger: Finding[];
  error?: string;
}
