/** Quantities of scenarios: text with a unit, as in the TOML. */

export type Dimension = "rate" | "duration" | "size" | "limit";

const UNITS: Record<Dimension, Record<string, number>> = {
  rate: { bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, Tbps: 1e12 },
  duration: { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 },
  size: { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  limit: { packets: 1, bdp: 1, B: 1, kB: 1e3, MB: 1e6, us: 1e-6, ms: 1e-3, s: 1 },
};
const ALSO: Record<string, [string, number]> = {
  "bit/s": ["bps", 1],
  "kbit/s": ["kbps", 1e3],
  "Mbit/s": ["Mbps", 1e6],
  "Gbit/s": ["Gbps", 1e9],
  KiB: ["kB", 1024],
  MiB: ["MB", 1024 ** 2],
  GiB: ["GB", 1024 ** 3],
  packet: ["packets", 1],
};

/** Units for output; others are accepted as input. */
const OFFERED: Record<Dimension, string[]> = {
  rate: ["bps", "kbps", "Mbps", "Gbps"],
  duration: ["us", "ms", "s"],
  size: ["B", "kB", "MB", "GB"],
  limit: ["packets"],
};

/** Parses a quantity into a value in base units and its unit; null if the text is none of this dimension. */
export function parse(text: unknown, dimension: Dimension): { value: number; unit: string } | null {
  const found = /^\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?)\s*([a-zA-Z/]+)\s*$/.exec(String(text));
  if (!found) return null;
  const [, digits, unit] = found;
  const scale = UNITS[dimension][unit!] ?? ALSO[unit!]?.[1];
  if (scale === undefined || (dimension !== "limit" && unit === "packets")) return null;
  return { value: Number(digits) * scale, unit: ALSO[unit!]?.[0] ?? unit! };
}

/** Kind of a queue limit, which its unit determines. */
export function limitKind(unit: string): string {
  if (unit === "packets" || unit === "bdp") return unit;
  return unit in UNITS.size ? "size" : "duration";
}

/** Formats a value in the largest unit that does not exceed it. */
export function write(value: number, dimension: Dimension, unit = ""): string {
  if (dimension === "limit") {
    const kind = limitKind(unit);
    if (kind === "packets" || kind === "bdp") return `${short(value)} ${kind}`;
    return write(value, kind as Dimension);
  }
  const units = OFFERED[dimension];
  const fitting = units.filter((name) => Math.abs(value) >= UNITS[dimension][name]! * 0.9999999);
  const name = fitting.at(-1) ?? (value === 0 ? (dimension === "duration" ? "ms" : units[0]!) : units[0]!);
  return `${short(value / UNITS[dimension][name]!)} ${name}`;
}

export const short = (value: number) => String(Number(value.toPrecision(6)));

/** Rounds to a few significant digits, so that a slider's stops are round. */
export function round(value: number, digits = 2): number {
  return Number(value.toPrecision(digits));
}
