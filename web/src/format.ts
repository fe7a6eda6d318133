const PREFIXES: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];

function prefixOf(size: number): [number, string] {
  return PREFIXES.find(([scale]) => size >= scale * 0.9999999) ?? PREFIXES.at(-1)!;
}

/** Whether a unit takes prefixes below one: no packet has a millibyte. */
const divisible = (unit: string) => unit === "s";

/** Formats a value with SI prefix and unit, to `digits` significant digits. */
export function quantity(value: number, unit: string, digits = 4): string {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return "∞";
  const size = Math.abs(value);
  if (size === 0) return unit ? `0 ${unit}` : "0";
  if (!unit || (size < 1 && !divisible(unit))) return `${trim(value, digits)}${unit ? ` ${unit}` : ""}`;
  const [scale, prefix] = unit === "s" && size >= 1 ? [1, ""] : prefixOf(size);
  return `${trim(value / scale, digits)} ${prefix}${unit}`;
}

function trim(value: number, digits: number): string {
  const whole = Number.isInteger(value) && Math.abs(value) < 1e6;
  return String(whole ? value : Number(value.toPrecision(digits)));
}

/** Labels of an axis's ticks, with one prefix for all and a bare zero. */
export function ticks(values: number[], unit: string): string[] {
  const greatest = Math.max(...values.map(Math.abs), 0);
  const plain = !unit || greatest === 0 || (greatest < 1 && !divisible(unit));
  const [scale, prefix] = plain || (unit === "s" && greatest >= 1) ? [1, ""] : prefixOf(greatest);
  const step = values.length > 1 ? Math.abs(values[1]! - values[0]!) / scale : 1;
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const whole = Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) < 1e-6;
  const places = whole ? decimals : decimals + 1;
  return values.map((value) =>
    value === 0 ? "0" : `${grouped((value / scale).toFixed(places))} ${prefix}${unit}`.trim(),
  );
}

/** Separates thousands by narrow no-break spaces. */
function grouped(text: string): string {
  const [whole, rest] = text.split(".");
  const apart = whole!.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return rest === undefined ? apart : `${apart}.${rest}`;
}

export const integer = (value: number) => (Number.isNaN(value) ? "–" : grouped(String(Math.round(value))));

const TIMES: [number, number, string][] = [
  [1e7, 1e9, "s"],
  [1e4, 1e6, "ms"],
  [0, 1e3, "µs"],
];

/** Labels of the time axis's ticks, in a unit that suits their distance. */
export function moments(values: number[]): string[] {
  const step = values.length > 1 ? values[1]! - values[0]! : 1e9;
  const [, scale, unit] = TIMES.find(([least]) => step >= least * 0.999)!;
  const ratio = step / scale;
  const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(ratio) + 1e-9)));
  const places =
    Math.abs(ratio * 10 ** decimals - Math.round(ratio * 10 ** decimals)) > 1e-6 ? decimals + 1 : decimals;
  return values.map((value) => `${grouped((value / scale).toFixed(places))} ${unit}`);
}

/** Formats a time of the run to the nanosecond: `1.234 567 890 s`. */
export function moment(ns: number): string {
  if (Number.isNaN(ns)) return "–";
  const fraction = (Math.abs(ns) / 1e9).toFixed(9).split(".");
  return `${ns < 0 ? "−" : ""}${fraction[0]}.${fraction[1]!.replace(/(\d{3})(?=\d)/g, "$1\u202f")} s`;
}

/** Formats a duration in a suitable unit. */
export function duration(ns: number): string {
  return quantity(ns / 1e9, "s");
}
