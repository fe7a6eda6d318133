import type { Lab } from "./lab";

/** Message between a page and the notebook around it. */
export interface HostMessage {
  /** The page is ready to receive a scenario. */
  ready?: true;
  /** The scenario. */
  toml?: string;
}

/** Whether the page is in a frame with inline content, as in a notebook: then it has no address of its own. */
export const hosted = parent !== window && location.protocol === "about:";

/** Sends the notebook each scenario that ran, once it has been idle for a moment, and loads those that it sends. */
export function follow(lab: Lab): void {
  let timer = 0;
  let last = lab.text;
  lab.onResult(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (lab.busy || lab.fault || lab.result?.text !== lab.text || lab.text === last) return;
      last = lab.text;
      send({ toml: last });
    }, 200);
  });
  addEventListener("message", ({ source, data }) => {
    const toml = (data?.vazao as HostMessage | undefined)?.toml;
    if (source !== parent || typeof toml !== "string" || toml === lab.text) return;
    last = toml;
    void lab.load(toml);
  });
  send({ ready: true });
}

function send(message: HostMessage): void {
  // The surrounding document provided the page; its origin is not known here.
  parent.postMessage({ vazao: message }, "*");
}
