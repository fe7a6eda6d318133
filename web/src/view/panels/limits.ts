import type { View } from "../../drawing/lod";
import type { Key, Panel } from "../../drawing/panel";
import type { Pen } from "../../drawing/pen";
import { upperBound } from "../../drawing/search";
import type { Theme } from "../../drawing/theme";
import type { Series } from "../recording";
import { held, type Run } from "../run";

/** Name of the measure. */
const LIMIT = "limit";

/** Maximum number of strips: more would be too low for words. */
const MOST = 8;

/** Height of a strip with the gap below it, and part of it that is filled. */
const ROOM = 24;
const FILLED = 0.8;

/** Width of a character of a word in a band, in pixels. */
const LETTER = 5.8;

/** Part of a column that one limit must have for its word to run through it. */
const ALONE = 0.95;

/** Strip of bands: what one sender waited for. */
export interface Strip {
  /** Label of the row, which is short. */
  row: string;
  /** Name in the legend, where the limit under the cursor stands. */
  name: string;
  colour: string;
  series: Series;
  /** Time until which it holds. */
  end: number;
}

/** Strips of bands, one for each sender; each instant has the colour of what its sender waited for. */
export class LimitsPanel implements Panel {
  readonly title = "Limits";
  readonly about = "what each sender waited for, a strip of coloured bands for each";
  readonly unit = "";

  /** `strips` returns those to draw now, `theme` the current theme. */
  constructor(
    readonly id: string,
    private readonly theme: () => Theme,
    private readonly strips: () => Strip[],
  ) {}

  get height(): number {
    return 40 + ROOM * Math.max(1, this.strips().length);
  }

  rows = (): string[] => {
    const strips = this.strips();
    return strips.length ? strips.map(({ row }) => row) : ["–"];
  };

  keys(): Key[] {
    const strips = this.strips();
    const names = namesOf(strips);
    const seen = new Set(strips.flatMap(({ series }) => [...new Set(series.value)]));
    const limits = [...seen].filter((limit) => this.colour(limit) !== null).sort((a, b) => a - b);
    return [
      ...limits.map(
        (limit): Key => ({ label: names[limit] ?? `${limit}`, colour: this.colour(limit)!, shape: "block" }),
      ),
      ...strips.map(
        ({ name, colour, series: { time, value }, end }): Key => ({
          label: name,
          colour,
          at: (moment) => (moment > end ? "–" : (names[held(time, value, moment)] ?? "–")),
        }),
      ),
    ];
  }

  fit(): [number, number] {
    return [0.5 - this.rows().length, 0.5];
  }

  paint(pen: Pen, shown: View): void {
    const strips = this.strips();
    const names = namesOf(strips);
    const row = Math.abs(shown.y(0) - shown.y(1));
    strips.forEach((strip, number) => {
      const box = { top: shown.y(-number) - (row * FILLED) / 2, height: row * FILLED };
      this.strip(pen, shown, box, columnsOf(strip, shown), names);
    });
  }

  private strip(
    pen: Pen,
    shown: View,
    { top, height }: { top: number; height: number },
    columns: Float64Array[],
    names: string[],
  ): void {
    const { left } = shown.box;
    const base = new Float64Array(columns[0]?.length ?? 0).fill(top);
    columns.forEach((shares, limit) => {
      const colour = this.colour(limit);
      if (colour === null) return;
      const boxes: number[] = [];
      const words: [number, number][] = [];
      for (let column = 0; column < shares.length; ) {
        const share = shares[column]!;
        let next = column + 1;
        while (next < shares.length && shares[next] === share && base[next] === base[column]) next++;
        if (share > 0) boxes.push(left + column, base[column]!, next - column, share * height);
        if (share >= ALONE) words.push([column, next]);
        base.fill(base[column]! + share * height, column, next);
        column = next;
      }
      pen.rects(colour, boxes);
      const word = names[limit] ?? "";
      for (const [from, to] of words) {
        if (to - from < word.length * LETTER + 10 || height < 12) continue;
        pen.text(on(colour), left + (from + to) / 2, top + height / 2, word, "center");
      }
    });
  }

  /** Colour of a limit; null for that of a sender that is done. */
  private colour(limit: number): string | null {
    return this.theme().limits[limit] ?? null;
  }
}

/** Strips of a run's flows; one of `chosen` is among them. */
export function stripsOf(run: Run, colour: string, chosen = 0): Strip[] {
  const all = run.series(LIMIT, null);
  const first = all.slice(0, MOST);
  const missing = all.slice(MOST).find(({ flow }) => flow === chosen);
  if (missing) first[MOST - 1] = missing;
  return first.map((series) => {
    const name = `flow ${series.flow}`;
    return { row: name, name, colour, series, end: run.end };
  });
}

/** Strip of one flow of a run. */
export function stripOf(run: Run, flow: number, row: string, colour: string): Strip[] {
  return run
    .series(LIMIT, flow)
    .slice(0, 1)
    .map((series) => ({ row, name: `${row}: ${run.name}`, colour, series, end: run.end }));
}

export const hasLimits = (run: Run) => run.series(LIMIT, null).some(({ measure }) => measure.values);

const namesOf = (strips: Strip[]): string[] => strips[0]?.series.measure.values ?? [];

/** For each limit, the share that it has of each pixel column's time. */
export function columnsOf({ series: { time, value, measure }, end }: Strip, shown: View): Float64Array[] {
  const width = Math.ceil(shown.box.width);
  const columns = (measure.values ?? []).map(() => new Float64Array(width));
  const at = (moment: number) =>
    Math.min(width, Math.max(0, ((moment - shown.lo) / (shown.hi - shown.lo)) * shown.box.width));
  const last = upperBound(time, shown.hi);
  for (let index = Math.max(0, upperBound(time, shown.lo) - 1); index < last; index++) {
    const shares = columns[value[index]!];
    const to = at(Math.min(time[index + 1] ?? end, end));
    let from = at(time[index]!);
    while (shares && from < to) {
      const column = Math.floor(from);
      const next = Math.min(column + 1, to);
      shares[column]! += next - from;
      from = next;
    }
  }
  return columns;
}

/** Colour of text that is read well on a colour given as `#rrggbb`. */
export function on(colour: string): string {
  const [r, g, b] = [1, 3, 5].map((at) => (Number.parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  const luminance = 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  // Where both contrasts (WCAG 2) are alike.
  return luminance > 0.18 ? "#000000" : "#ffffff";
}
