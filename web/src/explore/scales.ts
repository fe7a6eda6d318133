/** Axes and colours: the order of values, ticks, and the available space. */

import { told, unit } from "./columns";
import { label, type Mark, MOST_SERIES } from "./marks";
import type { State } from "./state";
import type { Value } from "./types";

export const COLORS = Array.from({ length: MOST_SERIES }, (_, n) => `var(--c${n % 8})`);

/** Size of a view, the order of its labels, and the callback for a clicked mark. */
export interface Place {
  width: number;
  height: number;
  order: (column: string) => Value[];
  picked: (mark: Mark) => void;
}

/** Width of a character of an axis label, in pixels. */
const LETTER = 6.6;

/** Maximum length of an axis label; a longer name is cut, and shown in full in a mark's tooltip. */
const MOST_LETTERS = 26;

/** Axis label of a value, cut to the maximum length. */
export function shortened(value: Value): string {
  const text = label(value);
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text;
}

/** Width of the longest axis label, in pixels. */
export function longest(values: Value[]): number {
  return Math.max(0, ...values.map((value) => shortened(value).length)) * LETTER;
}

/** Space in pixels below and left of a drawing, so that no x label at an angle leaves the picture. */
export function roomOf(names: number, turned: number, band: number): { below: number; left: number } {
  const angle = (-turned * Math.PI) / 180;
  const below = turned ? Math.max(60, names * Math.sin(angle) + 40) : 46;
  return {
    below: Math.round(below),
    left: Math.round(names * Math.cos(angle) * (turned ? 1 : 0.5) - band / 2 + 8),
  };
}

/** Width available for each value of x, in pixels. */
export function band(all: Mark[], place: Place): number {
  const [values, facets] = [
    new Set(all.map((one) => label(one.x))).size,
    new Set(all.map((one) => one.facet)).size,
  ];
  return (place.width - 110) / Math.max(1, facets) / Math.max(1, values);
}

/** Powers of ten between the least and the largest value, at most `most`; null if there are fewer than two. */
export function decades(values: number[], most: number): number[] | null {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  const [low, high] = positive.reduce(
    ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
    [Infinity, 0],
  );
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (!Number.isFinite(first) || last - first < 1) return null;
  const step = Math.ceil((last - first + 1) / Math.max(2, most));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, n) => 10 ** (first + n * step));
}

/** Formatter of an axis's numbers in the column's unit. */
export function ticks(column: string | null): (value: number) => string {
  return (value) => told(value, column && unit(column) ? column : "", 3);
}

/** Sorts unique values by the order of a factor's labels, or else numerically or alphabetically. */
export function domain(values: Value[], column: string | null, place: Pick<Place, "order">): Value[] {
  const order = column ? place.order(column) : [];
  const rank = (value: Value): number => {
    const at = order.findIndex((one) => label(one) === label(value));
    return at < 0 ? order.length : at;
  };
  const unique = [...new Map(values.map((value) => [label(value), value])).values()];
  return unique.sort(
    (a, b) =>
      rank(a) - rank(b) ||
      (typeof a === "number" && typeof b === "number" ? a - b : label(a).localeCompare(label(b))),
  );
}

/** Sorts series by the order of the factor that colours them. */
export function sorted(series: string[], color: string | null, place: Place): string[] {
  const order = color ? place.order(color).map(label) : [];
  const rank = (name: string): number => {
    const at = order.indexOf(name.split(" · ").at(-1) ?? "");
    return at < 0 ? order.length : at;
  };
  return [...series].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }));
}

/** Rotation of the x labels in degrees; 0 if they fit side by side. */
export function crowded(all: Mark[], place: Place): number {
  const names = new Set(all.map((one) => label(one.x)));
  const letters = [...names].reduce((sum, one) => sum + Math.min(one.length, MOST_LETTERS) + 2, 0) * 6.5;
  const facets = Math.max(1, new Set(all.map((one) => one.facet)).size);
  const room = (place.width - 80) / facets;
  if (letters <= room) return 0;
  return room < names.size * 17 ? -90 : -40;
}

/** Series and their colours, as in the drawing. */
export function legend(series: string[], state: State, place: Place): [string, string][] {
  return sorted(series, state.color, place).map((name, n) => [name, COLORS[n] ?? ""]);
}
