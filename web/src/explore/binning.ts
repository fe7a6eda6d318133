/** Bins as the server counts them: edges, the filter of a brushed range, and sums of a cube over such a range. */

import type { Bins, Counted, Filter, Value } from "./types";

/** The edge below bin `n`; of the last bin, the edge above is `edge(bins, bins.bins)`. */
export function edge(bins: Bins, n: number): number {
  if (n <= 0) return bins.low;
  if (n >= bins.bins) return bins.high;
  const part = n / bins.bins;
  if (bins.log) return 10 ** (Math.log10(bins.low) + part * (Math.log10(bins.high) - Math.log10(bins.low)));
  return bins.low + part * (bins.high - bins.low);
}

/** Place of a value, in bins from the left. */
export function place(bins: Bins, value: number): number {
  if (bins.log) {
    const low = Math.log10(bins.low);
    return (
      ((Math.log10(Math.max(value, Number.MIN_VALUE)) - low) / (Math.log10(bins.high) - low)) * bins.bins
    );
  }
  return ((value - bins.low) / (bins.high - bins.low)) * bins.bins;
}

/** The rows of bins `from` to before `to`: an end that is the domain's own limits nothing. */
export function range(column: string, bins: Bins, from: number, to: number): Filter {
  const filter: Filter = { column };
  if (from > 0) filter.low = edge(bins, from);
  if (to < bins.bins) filter.high = edge(bins, to);
  return filter;
}

/** Counts by value, of the active bins `from` to before `to` where those are told. */
export function sums(counted: Counted, from = -Infinity, to = Infinity): Map<Value, number> {
  const found = new Map<Value, number>();
  for (let i = 0; i < counted.n.length; i++) {
    const at = counted.a[i] ?? null;
    const inside = at === null ? from === -Infinity && to === Infinity : at >= from && at < to;
    if (inside) found.set(counted.v[i] ?? null, (found.get(counted.v[i] ?? null) ?? 0) + (counted.n[i] ?? 0));
  }
  return found;
}
