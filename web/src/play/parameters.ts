import type { Catalogue, Parameter } from "./catalogue";
import { choice, type Field, fixed, flag, limit, number, quantity, type Scale, words } from "./controls";
import { isTable, type Toml } from "./toml";
import { type Dimension, parse } from "./units";

const RANGES: Record<string, Scale> = {
  rate: { least: 64e3, most: 1e9, log: true, zero: false },
  duration: { least: 1e-4, most: 10, log: true, zero: true },
  size: { least: 1000, most: 1e8, log: true, zero: false },
};

/** Scale for "a number from 0.1 to 100": logarithmic if it spans a large ratio. */
function scaleOf(least: number, most: number, whole: boolean): Scale {
  const zero = least === 0;
  const low = zero ? Math.min(most / 1e4, whole ? 1 : 0.001) : least;
  if (most / low > 50) return { least: low, most: Math.min(most, low * 1e5), log: true, zero, whole };
  return { least, most, log: false, zero: false, whole };
}

function dimensionOf(expected: string): Dimension | null {
  if (/^a rate such/.test(expected)) return "rate";
  if (/^a duration/.test(expected)) return "duration";
  if (/^(a|"auto" or a) size/.test(expected)) return "size";
  return null;
}

const KINDS = /^the name of an? (.+?), or a table/;

/** Control for a parameter, chosen by the registry's description of accepted values. */
export function control(
  parameter: Parameter,
  value: Toml | undefined,
  catalogue: Catalogue,
  change: Field["change"],
): HTMLElement {
  const { name, expected, help } = parameter;
  const label = name.replaceAll("_", " ");
  const field: Field = { label, help, value, fallback: parameter.default, change };
  const kind = KINDS.exec(expected)?.[1];
  if (kind) {
    const named = isTable(value) ? value.kind : value;
    return choice({ ...field, value: named }, catalogue.entries(kind));
  }
  if (value !== undefined && typeof value === "object") return fixed(label, "in the TOML");
  if (expected === "true or false") return flag(field);
  if (expected.startsWith("one of ")) {
    return choice(
      field,
      expected
        .slice(7)
        .split(", ")
        .map((option) => ({ name: option })),
    );
  }
  if (expected.startsWith("a queue limit"))
    return limit({ ...field, fallback: parameter.default || "100 packets" });
  const range = /^a (whole )?number from ([\d.]+) to ([\d.]+)$/.exec(expected);
  if (range) return number(field, scaleOf(Number(range[2]), Number(range[3]), range[1] !== undefined));
  const dimension = dimensionOf(expected);
  // A named distribution is text, not a quantity.
  if (dimension && (value === undefined || value === "auto" || parse(value, dimension))) {
    return quantity(field, dimension, RANGES[dimension]!);
  }
  return words(field);
}
