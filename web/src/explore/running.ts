/** Page that waits while the server runs a run again, once the user has allowed the code that this executes. */

import { button, el } from "../dom";
import { asked } from "./pair";
import { post, Refused } from "./server";

interface Reply {
  /** Key of the finished page. */
  page?: string;
  /** Description of the code that would be executed. */
  asked?: string;
  /** Permission to execute it, which the user's consent sends back. */
  leave?: string;
}

export async function running(leave: readonly string[] = []): Promise<void> {
  const message = document.querySelector("p")!;
  try {
    const reply = await post<Reply>("/api/run", { ...asked(location.pathname, location.search), leave });
    if (reply.page) location.replace(`/view/${encodeURIComponent(reply.page)}`);
    else question(reply.asked ?? "", [...leave, reply.leave ?? ""]);
  } catch (error) {
    document.querySelector("h1")!.textContent = "It was not run";
    message.textContent = error instanceof Refused ? error.message : "The server does not answer.";
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
