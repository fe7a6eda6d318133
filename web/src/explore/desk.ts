/** Context that the page's parts share: the shown state, the survey of what can be shown, and changes. */

import type { State } from "./state";
import type { Survey } from "./survey";

/** Parts to rebuild after a change: only the drawing, also the controls, or histograms and lists as well. */
export type Again = "drawing" | "controls" | "all";

export interface Desk {
  readonly state: State;
  readonly survey: Survey;
  change(changes: Partial<State>, again?: Again): void;
  /** Reports an error. */
  failed(error: unknown): void;
}
