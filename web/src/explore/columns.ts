/** Columns and their values as they are read: a column's suffix is its unit. */

import { quantity } from "../format";

/** The unit of a column, by the suffix of its name. */
export function unit(column: string): string {
  if (column.endsWith("_bps")) return "bit/s";
  if (column.endsWith("_bytes")) return "B";
  return column.endsWith("_s") ? "s" : "";
}

/** A number with its prefix and unit, in so many digits. */
export function told(value: number | null | undefined, column = "", digits = 3): string {
  return quantity(value ?? Number.NaN, unit(column), digits);
}

/** A column as it is read: `goodput_bps` is goodput in bit/s, `links.utilisation` a run's mean. */
export function title(column: string): string {
  if (column === "group") return "flow table";
  if (column.startsWith("own.")) return `${title(column.slice(4))} of its own`;
  const name = unit(column);
  const bare = name ? column.replace(/_(bps|bytes|s)$/, "") : column;
  const words = bare.replaceAll("_", " ").replace(/^(\w+)\.(.*)$/, "$2 (run’s mean of $1)");
  return name ? `${words} [${name}]` : words;
}
