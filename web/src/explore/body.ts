/** Input for drawing each kind of view, and the formatting that all kinds share. */

import type * as Plot from "@observablehq/plot";
import { told } from "./columns";
import { label, type Mark } from "./marks";
import type { Place } from "./scales";
import type { State } from "./state";
import type { Answer, Value } from "./types";

/** Makes the tooltip of the mark nearest to the pointer by these channels; `lines` gives its lines by name. */
export type Tip = (
  all: Mark[],
  channels: object,
  lines: Record<string, (one: Mark) => string>,
  nearest?: typeof Plot.pointer,
) => Plot.Markish;

export interface Body {
  state: State;
  answer: Answer;
  stroke: string;
  facet: object;
  series: string[];
  xNumbers: boolean;
  options: Plot.PlotOptions;
  place: Place;
  tip: Tip;
}

/** Formats a value in its column's unit. */
export const said = (value: Value, column: string | null): string =>
  typeof value === "number" && column ? told(value, column, 4) : label(value);
