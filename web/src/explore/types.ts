import type { About, Ask, Column, Counted, Counts, Rows } from "../contract";

/** Queries to the server and its answers, as parts of the page name them. */

export type {
  Bins,
  Dimension,
  Directory,
  Domain,
  Factor,
  Figure,
  Filter,
  Finding,
  Ledger,
  Part,
  Statement,
} from "../contract";
export type { Ask, Column, Counted };

export type Value = string | number | boolean | null;
export type Columns = Record<string, Value[]>;
export type Kind = Exclude<Ask["kind"], "counts" | "runs" | "domain">;
export type TableName = Ask["table"];
export type { About };
/** Which half an answer has depends on the kind of the query. */
export type Answer = Rows & Counts;
