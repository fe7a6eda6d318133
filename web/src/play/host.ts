import type { Lab } from "./lab";

/** What a page and the notebook around it tell each other. */
export interface Told {
  /** The page can be told a scenario. */
  ready?: true;
  /** The scenario. */
  toml?: string;
}

/** Whether the page is in a frame whose text somebody gave, as a notebook does: then it has no address of its own. */
export const hosted = parent !== window && location.protocol === "about:";

/** Tells the notebook each scenario that ran, once it has been at rest for a moment, and takes another from it. */
export function follow(lab: Lab): void {
  let timer = 0;
  let last = lab.text;
  lab.onResult(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (lab.busy || lab.fault || lab.result?.text !== lab.text || lab.text === last) return;
      last = lab.text;
      tell({ toml: last });
    }, 200);
  });
  addEventListener("message", ({ source, data }) => {
    const toml = (data?.vazao as Told | undefined)?.toml;
    if (source !== parent || typeof toml !== "string" || toml === lab.text) return;
    last = toml;
    void lab.load(toml);
  });
  tell({ ready: true });
}

function tell(told: Told): void {
  // Whoever is around gave the page its text; its origin is not known here.
  parent.postMessage({ vazao: told }, "*");
}
