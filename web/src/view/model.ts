import type { TimeAxis } from "../drawing/axis";
import type { Theme } from "../drawing/theme";
import type { Difference } from "./difference";
import type { Run, Selection } from "./run";

/** State that all panels share: the runs, the selection, and the time axis. */
export interface Model {
  readonly runs: Run[];
  readonly axis: TimeAxis;
  flow: number;
  /** Path that is shown; -1 for all. */
  path: number;
  /** Run whose network is animated and whose sender states are shaded. */
  lead: number;
  selected: Selection | null;
  difference: Difference | null;
  theme: Theme;
  select(selection: Selection | null): void;
}

/** Whether runs are overlaid; if so, colours distinguish runs instead of measures. */
export const overlaid = (model: Model) => model.runs.length > 1;

export const runColour = (model: Model, run: number) => model.theme.runs[run % model.theme.runs.length]!;

/** Line width of a run: earlier runs are drawn wider and first, so that they show behind later ones that coincide. */
export const runWidth = (model: Model, run: number) => 1.25 + 1.5 * Math.min(3, model.runs.length - 1 - run);

const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

export const dash = (nth: number) => DASHES[nth % DASHES.length]!;
