import type { TimeAxis } from "./axis";
import type { View } from "./lod";
import type { Pen } from "./pen";
import type { Theme } from "./theme";

/** An entry of a panel's legend. */
export interface Key {
  label: string;
  colour: string;
  dash?: number[];
  shape?: "bar" | "line" | "cross" | "band" | "block";
  /** Formats the value at a time; absent for marks. */
  at?: (moment: number) => string;
}

/** Interface of a panel with a time axis; `Plot` does the rest. */
export interface Panel {
  id: string;
  title: string;
  /** Description of the drawing for screen readers. */
  about: string;
  height: number;
  unit: string;
  /** Labels of the vertical axis, instead of numbers with the unit. */
  rows?: () => string[];
  /** Whether it draws packets, which a truncated recording has only up to some time. */
  ofPackets?: boolean;
  keys(): Key[];
  /** Least and greatest value in a time range that is `width` pixels wide; null if it is empty. */
  fit(lo: number, hi: number, width: number): [number, number] | null;
  /** Vertical range of the whole drawing, if `fit` lets some of it leave the picture. */
  whole?(): [number, number];
  paint(pen: Pen, shown: View): void;
  /** Handles a click at a point. */
  click?(shown: View, x: number, y: number): void;
}

/** State that panels are drawn with. */
export interface Stage {
  readonly axis: TimeAxis;
  readonly theme: Theme;
  /** Mark at the first difference between the runs. */
  readonly difference: { time: number } | null;
  /** The runs, and until when the packets of those that were cut are known. */
  readonly runs: { name: string; isCut: boolean; known: number }[];
}

/** A panel on the screen, as far as a file with its picture needs it. */
export interface Drawn {
  readonly panel: Panel;
  readonly canvas: HTMLCanvasElement;
  readonly theme: Theme;
  box(): View["box"];
  refit(): void;
  shown(box?: View["box"], whole?: [number, number]): View;
  /** Positions and labels of the visible ticks. */
  ticks(): { x: [number, string][]; y: [number, string][] };
  compose(pen: Pen, shown: View): void;
}
