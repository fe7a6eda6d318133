import type { View } from "../../drawing/lod";
import type { Key } from "../../drawing/panel";
import type { Pen } from "../../drawing/pen";
import { lowerBound, upperBound } from "../../drawing/search";
import type { Series } from "../recording";
import { held } from "../run";
import { LinesPanel } from "./lines";

/** Height of a lane below which there is no room for names, in pixels. */
const LANE = 30;
/** Width of a character of a name, in pixels. */
const LETTER = 5.6;

/** Congestion window, slow-start threshold and bytes in flight over bands of sender states, one lane per path. */
export class WindowsPanel extends LinesPanel {
  override keys(): Key[] {
    const keys = super.keys();
    const names = this.lead().recording.header.states ?? [];
    const seen = new Set<number>();
    for (const series of this.states()) for (const state of this.values(series)) seen.add(state);
    for (const state of [...seen].sort((a, b) => a - b)) {
      keys.push({ label: names[state] ?? `state ${state}`, colour: this.band(state), shape: "band" });
    }
    return keys;
  }

  override fit(lo: number, hi: number): [number, number] | null {
    const fitted = super.fit(lo, hi);
    return fitted && [0, fitted[1]];
  }

  override paint(pen: Pen, shown: View): void {
    const lanes = this.states();
    lanes.forEach((series, lane) => {
      const height = shown.box.height / lanes.length;
      this.bands(pen, series, shown, shown.box.top + lane * height, height);
    });
    super.paint(pen, shown);
  }

  private lead() {
    return this.model.runs[this.model.lead]!;
  }

  private states(): Series[] {
    return this.lead().series("state", this.model.flow, this.model.path);
  }

  /** Distinct values of a series of states; there are few, however long it is. */
  private values(series: Series): Set<number> {
    const seen = new Set<number>();
    let last = Number.NaN;
    for (const value of series.value) {
      if (value !== last) seen.add(value);
      last = value;
    }
    return seen;
  }

  private band(state: number): string {
    const { bands } = this.model.theme;
    return bands[state % bands.length]!;
  }

  private bands(pen: Pen, series: Series, shown: View, top: number, height: number): void {
    const { time, value } = series;
    const boxes: number[][] = [];
    const put = (from: number, to: number, state: number) => {
      if (Number.isNaN(state) || to <= from) return;
      boxes[state] ??= [];
      boxes[state].push(from, top, to - from, height);
    };
    const { left, width } = shown.box;
    const first = upperBound(time, shown.lo);
    const end = lowerBound(time, shown.hi, first);
    let x = left;
    let state = held(time, value, shown.lo);
    if (end - first > 2 * width) {
      for (let column = 1; column <= width; column++) {
        const next = held(time, value, shown.lo + ((shown.hi - shown.lo) * column) / width);
        if (next === state && column < width) continue;
        put(x, left + column, state);
        [x, state] = [left + column, next];
      }
    } else {
      for (let index = first; index < end; index++) {
        if (value[index] === state) continue;
        put(x, shown.x(time[index]!), state);
        [x, state] = [shown.x(time[index]!), value[index]!];
      }
      put(x, left + width, state);
    }
    const names = this.lead().recording.header.states ?? [];
    boxes.forEach((list, which) => {
      pen.rects(this.band(which), list, this.model.theme.dark ? 0.2 : 0.16);
      const name = names[which];
      for (let at = 0; name && height >= LANE && at < list.length; at += 4) {
        if (list[at + 2]! < name.length * LETTER + 8) continue;
        pen.text(this.model.theme.soft, list[at]! + list[at + 2]! / 2, top + 8, name, "center", 10);
      }
    });
  }
}
