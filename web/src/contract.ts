/** Written by `python web/tools/contract.py`: registries, headers of recordings, queries of the explorer. */

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
  rate_bps: number;
  delay_ns: number;
  key?: string;
  index?: number;
}

export interface Measure {
  name: string;
  title: string;
  unit: string;
  line?: boolean;
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
