/** Bins as the server counts them: edges, the filter for a brushed range, and sums of a cube over a range. */

import type { Bins, Counted, Filter, Value } from "./types";

/** Lower edge of bin `n`; `edge(bins, bins.bins)` is the upper edge of the last bin. */
export function edge(bins: Bins, n: number): number {
  if (n <= 0) return bins.low;
  if (n >= bins.bins) return bins.high;
  const part = n / bins.bins;
  if (bins.log) return 10 ** (Math.log10(bins.low) + part * (Math.log10(bins.high) - Math.log10(bins.low)));
  return bins.low + part * (bins.high - bins.low);
}

/** Position of a value, in bins from the left. */
export function place(bins: Bins, value: number): number {
  if (bins.log) {
    const low = Math.log10(bins.low);
    return (
      ((Math.log10(Math.max(value, Number.MIN_VALUE)) - low) / (Math.log10(bins.high) - low)) * bins.bins
    );
  }
  return ((value - bins.low) / (bins.high - bins.low)) * bins.bins;
}

/** Filter for bins `from` to `to` (exclusive); an end at the domain's own edge is left open. */
export function range(column: string, bins: Bins, from: number, to: number): Filter {
  const filter: Filter = { column };
  if (from > 0) filter.low = edge(bins, from);
  if (to < bins.bins) filter.high = edge(bins, to);
  return filter;
}

/** Counts by value over the active bins `from` to `to` (exclusive); without a range, over all rows. */
export function sums(counted: Counted, from = -Infinity, to = Infinity): Map<Value, number> {
  const found = new Map<Value, number>();
  for (let i = 0; i < counted.n.length; i++) {
    const at = counted.a[i] ?? null;
    const inside = at === null ? from === -Infinity && to === Infinity : at >= from && at < to;
    if (inside) found.set(counted.v[i] ?? null, (found.get(counted.v[i] ?? null) ?? 0) + (counted.n[i] ?? 0));
  }
  return found;
}
