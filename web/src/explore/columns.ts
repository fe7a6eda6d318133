/** Formatting of columns and their values: a column's suffix is its unit. */

import { quantity } from "../format";

/** Unit of a column, by the suffix of its name. */
export function unit(column: string): string {
  if (column.endsWith("_bps")) return "bit/s";
  if (column.endsWith("_bytes")) return "B";
  return column.endsWith("_s") ? "s" : "";
}

/** Formats a number with SI prefix and unit, to `digits` significant digits. */
export function told(value: number | null | undefined, column = "", digits = 3): string {
  return quantity(value ?? Number.NaN, unit(column), digits);
}

/** Display name of a column: `goodput [bit/s]` for `goodput_bps`; `links.utilisation` is a run's mean. */
export function title(column: string): string {
  if (column === "group") return "flow table";
  if (column.startsWith("own.")) return `${title(column.slice(4))} of its own`;
  const name = unit(column);
  const bare = name ? column.replace(/_(bps|bytes|s)$/, "") : column;
  const words = bare.replaceAll("_", " ").replace(/^(\w+)\.(.*)$/, "$2 (run’s mean of $1)");
  return name ? `${words} [${name}]` : words;
}
