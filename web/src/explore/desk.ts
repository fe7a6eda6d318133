/** Everything that parts of the page share: the state that is seen, the survey of what can be seen, and its change. */

import type { State } from "./state";
import type { Survey } from "./survey";

/** Parts that are made again after a change: only the drawing, the controls too, or histograms and lists as well. */
export type Again = "drawing" | "controls" | "all";

export interface Desk {
  readonly state: State;
  readonly survey: Survey;
  change(changes: Partial<State>, again?: Again): void;
  /** Says what went wrong. */
  failed(error: unknown): void;
}
