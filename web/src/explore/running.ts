/** The page that waits for a run: it has it run again, once its user has allowed what that runs. */

import { button, el } from "../dom";
import { asked } from "./pair";
import { post, Refused } from "./server";

interface Told {
  /** Key of the page that was made. */
  page?: string;
  /** What would be run, and what says that it may be. */
  asked?: string;
  leave?: string;
}

export async function running(leave: readonly string[] = []): Promise<void> {
  const said = document.querySelector("p")!;
  try {
    const told = await post<Told>("/api/run", { ...asked(location.pathname, location.search), leave });
    if (told.page) location.replace(`/view/${encodeURIComponent(told.page)}`);
    else question(told.asked ?? "", [...leave, told.leave ?? ""]);
  } catch (error) {
    document.querySelector("h1")!.textContent = "It was not run";
    said.textContent = error instanceof Refused ? error.message : "The server does not answer.";
  }
}

function question(what: string, leave: readonly string[]): void {
  const waiting = [...document.body.children];
  const run = () => {
    document.body.replaceChildren(...waiting);
    void running(leave);
  };
  document.body.replaceChildren(
    el("h1", {}, "May it?"),
    el("pre", {}, what),
    button("Run it", "Run it all the same", run),
  );
}
