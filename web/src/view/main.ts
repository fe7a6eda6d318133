import { el } from "../dom";
import { fromBase64, unpacked } from "./decode";
import { apart } from "./naming";
import { Viewer } from "./page";
import { Run } from "./run";

export interface Options {
  /** Names of the recordings, in their order; by default, the names of their scenarios. */
  names?: string[];
}

/** Shows recordings in an element; throws an error with a readable message if one cannot be read. */
export function view(element: HTMLElement, recordings: ArrayBuffer[], options: Options = {}): Viewer {
  const runs = recordings.map((buffer, index) => new Run(buffer, options.names?.[index] ?? ""));
  const names = runs.map((run) => run.name || run.recording.header.name || "run");
  const unique = names.map((name, index) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} ${index + 1}`,
  );
  const { common, own } = apart(unique);
  for (const [index, run] of runs.entries()) run.name = own[index]!;
  return new Viewer(element, runs, common);
}

function fail(element: HTMLElement, error: unknown): void {
  element.replaceChildren(
    el("p", { class: "failure", role: "alert" }, error instanceof Error ? error.message : String(error)),
  );
}

async function show(
  element: HTMLElement,
  sources: { name: string; bytes: () => Promise<Uint8Array<ArrayBuffer>> }[],
) {
  try {
    const buffers = await Promise.all(sources.map(async ({ bytes }) => unpacked(await bytes())));
    view(element, buffers, { names: sources.map(({ name }) => name) });
  } catch (error) {
    fail(element, error);
  }
}

/** Shows a file input, for a page without recordings. */
function opener(element: HTMLElement): void {
  const input = el("input", { type: "file", multiple: true, "aria-label": "Recordings to open" });
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    void show(
      element,
      files.map((file) => ({
        name: file.name.replace(/\..*$/, ""),
        bytes: async () => new Uint8Array(await file.arrayBuffer()),
      })),
    );
  });
  element.classList.add("vazao");
  element.replaceChildren(
    el("label", { class: "opener" }, "Open one recording, or several to compare ", input),
  );
}

function start(): void {
  const element = document.getElementById("view");
  if (!element) return;
  const embedded = [...document.querySelectorAll<HTMLScriptElement>("script[data-recording]")];
  if (embedded.length === 0) {
    opener(element);
    return;
  }
  void show(
    element,
    embedded.map((script) => ({
      name: script.dataset.name ?? "",
      bytes: async () => fromBase64(script.textContent ?? ""),
    })),
  );
}

declare global {
  interface Window {
    vazao: { view: typeof view };
  }
}

window.vazao = { view };
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
