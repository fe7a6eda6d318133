import type { Pen } from "./pen";
import type { Pyramid } from "./pyramid";
import { lowerBound, upperBound } from "./search";

/** The part of the plane that a panel shows, and where it lies on the screen, in CSS pixels. */
export interface View {
  lo: number;
  hi: number;
  bottom: number;
  top: number;
  box: { left: number; top: number; width: number; height: number };
  x(time: number): number;
  y(value: number): number;
}

export function view(lo: number, hi: number, bottom: number, top: number, box: View["box"]): View {
  const across = box.width / (hi - lo);
  const up = box.height / (top - bottom || 1);
  const base = box.top + box.height;
  return {
    lo,
    hi,
    bottom,
    top,
    box,
    x: (time) => box.left + (time - lo) * across,
    y: (value) => base - (value - bottom) * up,
  };
}

/** Part of a view that lies before a time; null if there is none. */
export function before(shown: View, moment: number): View | null {
  if (moment >= shown.hi) return shown;
  if (moment <= shown.lo) return null;
  const { left, top, height } = shown.box;
  return { ...shown, hi: moment, box: { left, top, width: shown.x(moment) - left, height } };
}

/**
 * Points of a step line, at most four per pixel column: if many samples share a column, it shows their least, greatest
 * and last.
 */
export function stairs(time: Float64Array, value: Float64Array, pyramid: Pyramid, shown: View): number[] {
  const points: number[] = [];
  const first = Math.max(0, upperBound(time, shown.lo) - 1);
  const end = upperBound(time, shown.hi);
  if (end <= 0) return points;
  const { left, width } = shown.box;
  if (end - first <= 2 * width) {
    let before = Number.NaN;
    for (let index = first; index < end; index++) {
      const x = shown.x(Math.max(time[index]!, shown.lo));
      if (!Number.isNaN(before)) points.push(x, before);
      before = Number.isFinite(value[index]!) ? shown.y(value[index]!) : Number.NaN;
      points.push(x, before);
    }
    points.push(left + width, before);
    return points;
  }
  const step = (shown.hi - shown.lo) / width;
  let index = first;
  let last = Number.NaN;
  for (let column = 0; column < width && index < end; column++) {
    const next = lowerBound(time, shown.lo + (column + 1) * step, index, end);
    if (next === index) continue;
    const x = left + column + 0.5;
    if (!Number.isNaN(last)) points.push(x, last);
    if (pyramid.range(index, next)) points.push(x, shown.y(pyramid.max), x, shown.y(pyramid.min));
    last = Number.isFinite(value[next - 1]!) ? shown.y(value[next - 1]!) : Number.NaN;
    points.push(x, last);
    index = next;
  }
  points.push(left + width, last);
  return points;
}

/** Points of a polyline; if many samples share a pixel column, those of [stairs]. */
export function slopes(time: Float64Array, value: Float64Array, pyramid: Pyramid, shown: View): number[] {
  const first = Math.max(0, upperBound(time, shown.lo) - 1);
  const end = Math.min(time.length, upperBound(time, shown.hi) + 1);
  if (end - first > 2 * shown.box.width) return stairs(time, value, pyramid, shown);
  const points: number[] = [];
  for (let index = first; index < end; index++) points.push(shown.x(time[index]!), shown.y(value[index]!));
  return points;
}

/** Boxes that are alike, in order of time, from `low` to `high`. */
interface Bars {
  time: Float64Array;
  low: Float64Array;
  high: Float64Array;
  pyramid: Pyramid;
}

/** Bars per pixel above which only the extremes of each column are drawn. */
const DENSE = 3;

/** Draws bars one by one while there is room, and otherwise the range that each pixel column spans. */
export function drawBars(pen: Pen, colour: string, bars: Bars, shown: View, thick = 1): void {
  const { time, low, high, pyramid } = bars;
  const { left, width } = shown.box;
  const first = lowerBound(time, shown.lo);
  const end = upperBound(time, shown.hi);
  if (end - first > DENSE * width) {
    const boxes: number[] = [];
    const step = (shown.hi - shown.lo) / width;
    let index = first;
    for (let column = 0; column < width && index < end; column++) {
      const next = lowerBound(time, shown.lo + (column + 1) * step, index, end);
      if (next > index && pyramid.range(index, next)) {
        const y = shown.y(pyramid.max);
        boxes.push(left + column, y, thick, Math.max(1, shown.y(pyramid.min) - y));
      }
      index = next;
    }
    pen.rects(colour, boxes);
    return;
  }
  const room = width / Math.max(1, end - first);
  const line = Math.max(thick, room > 8 ? 2 : room > 2 ? 1.5 : 1);
  const ends: number[] = [];
  for (let index = first; index < end; index++) {
    const x = shown.x(time[index]!);
    const bottom = shown.y(low[index]!);
    const top = Math.min(shown.y(high[index]!), bottom - 2);
    ends.push(x, bottom, x, top);
    if (bottom - top > 7) ends.push(x - 2.5, top, x + 2.5, top, x - 2.5, bottom, x + 2.5, bottom);
  }
  pen.segments(colour, line, ends);
}

/** Distance in pixels below which marks would merge into a blot. */
const BLOT = 3;

/** Points to mark; if many are close together, one per `BLOT` pixels. */
export function marks(time: Float64Array, value: Float64Array, shown: View): number[] {
  const points: number[] = [];
  const end = upperBound(time, shown.hi);
  let index = lowerBound(time, shown.lo);
  const step = end - index > shown.box.width / 8 ? (BLOT * (shown.hi - shown.lo)) / shown.box.width : 0;
  while (index < end) {
    points.push(shown.x(time[index]!), shown.y(value[index]!));
    index = step ? lowerBound(time, time[index]! + step, index + 1, end) : index + 1;
  }
  return points;
}
