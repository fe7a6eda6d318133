/** What a kind of view is drawn with, and words that all of them use. */

import type * as Plot from "@observablehq/plot";
import { told } from "./columns";
import { label, type Mark } from "./marks";
import type { Place } from "./scales";
import type { State } from "./state";
import type { Answer, Value } from "./types";

export interface Body {
  state: State;
  answer: Answer;
  stroke: string;
  facet: object;
  series: string[];
  xNumbers: boolean;
  options: Plot.PlotOptions;
  place: Place;
  tip: (more: Record<string, (one: Mark) => string>) => object;
}

/** A value in its column's unit. */
export const said = (value: Value, column: string | null): string =>
  typeof value === "number" && column ? told(value, column, 4) : label(value);
