/** Everything that a kind of view is drawn with, and words that all of them use. */

import type * as Plot from "@observablehq/plot";
import { told } from "./columns";
import { label, type Mark } from "./marks";
import type { Place } from "./scales";
import type { State } from "./state";
import type { Answer, Value } from "./types";

/** Makes the box beside the pointer: what is told of the mark that is nearest by these channels. */
export type Tip = (
  all: Mark[],
  channels: object,
  told: Record<string, (one: Mark) => string>,
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

/** A value in its column's unit. */
export const said = (value: Value, column: string | null): string =>
  typeof value === "number" && column ? told(value, column, 4) : label(value);
