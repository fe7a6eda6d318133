/** Numbers as they are read: a column's suffix is its unit. */

const PREFIXES: readonly [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

/** The unit of a column, by the suffix of its name. */
export function unit(column: string): string {
  if (column.endsWith("_bps")) return "bit/s";
  if (column.endsWith("_bytes")) return "B";
  return column.endsWith("_s") ? "s" : "";
}

/** A number with its prefix and unit, in so many digits. */
export function told(value: number | null | undefined, column = "", digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const name = unit(column);
  if (value === 0) return name ? `0 ${name}` : "0";
  const size = Math.abs(value);
  if (!name && size >= 1e-3 && size < 1e5) return plain(value, digits);
  const [scale, prefix] = PREFIXES.find(([least]) => size >= least * 0.9995) ?? [1e-9, "n"];
  if (name === "s" && scale > 1) return `${plain(value, digits)} s`;
  return `${plain(value / scale, digits)} ${prefix}${name}`.trimEnd();
}

/** How many, in groups of three. */
export function count(value: number): string {
  return value.toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function plain(value: number, digits: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : String(Number(value.toPrecision(digits)));
}

/** A column as it is read: `goodput_bps` is goodput in bit/s, `links.utilisation` a run's mean. */
export function title(column: string): string {
  const name = unit(column);
  const bare = name ? column.replace(/_(bps|bytes|s)$/, "") : column;
  const words = bare.replaceAll("_", " ").replace(/^(\w+)\.(.*)$/, "$2 (run’s mean of $1)");
  return name ? `${words} [${name}]` : words;
}
