import type { Request } from "../play/engine";
import { fromBase64, unpacked } from "../view/decode";
import type { Words } from "./words";

/** What a run needs that a page does not have; empty if it can run in the page. */
export type Needs = "" | "guest" | "simulator" | "program" | "file";

/** A combination of factor levels, whose runs differ only in their seeds. */
interface Cell {
  levels: string;
  /** Index in `texts`. */
  text: number;
  /** Indices in `settings`. */
  set: number[];
  /** Name of the study's part. */
  part: string;
  needs: Needs;
}

/** Values of the figure's columns, label, indices in `runs`, and total number of runs. */
export type Mark = [(string | number)[], string, number[], number];

/** `run_id`, index in `cells`, seed, events, goodput of the first flows in bit/s. */
type Stored = [string, number, number, number | null, (number | null)[]];

export interface Content {
  figures: Record<string, { columns: string[]; marks: Mark[] }>;
  runs: Stored[];
  cells: Cell[];
  settings: [string, unknown][];
  texts: string[];
  words: Words;
  /** Version of the engine that produced the stored rows. */
  engine: string;
  /** Address of the explorer's page; empty if no server provides one. */
  explorer: string;
  /** Command that opens a run in the viewer, without the `run_id` at its end. */
  command: string;
}

/** A stored run that a reader can choose. */
export interface Run {
  id: string;
  levels: string;
  seed: number;
  needs: Needs;
  events: number | null;
  goodputs: (number | null)[];
}

async function text(element: Element): Promise<string> {
  return new TextDecoder().decode(await unpacked(fromBase64(element.textContent ?? "")));
}

/** Decompresses the text of the page's `data-<name>` script element; throws if there is none. */
export function kept(name: string): Promise<string> {
  const element = document.querySelector(`script[data-${name}]`);
  if (!element) throw new Error(`This page has no ${name} in it.`);
  return text(element);
}

export async function content(): Promise<Content> {
  return JSON.parse(await kept("again")) as Content;
}

export function runOf({ runs, cells }: Content, place: number): Run {
  const [id, cell, seed, events, goodputs] = runs[place]!;
  const { levels, needs } = cells[cell]!;
  return { id, levels, seed, needs, events, goodputs };
}

/** Address of the explorer that shows only these runs, in the part of the first; they may belong to others too. */
export function explored({ explorer, runs, cells }: Content, places: number[]): string {
  const chosen = places.map((place) => runs[place]!);
  const state = {
    part: cells[chosen[0]![1]]!.part,
    filters: [{ column: "run_id", values: chosen.map(([id]) => id) }],
  };
  return `${explorer}#${encodeURIComponent(JSON.stringify(state))}`;
}

/** Builds the engine's request for a run. */
export function requestOf({ runs, cells, settings, texts }: Content, place: number): Request {
  const [, cell, seed] = runs[place]!;
  const { text, set } = cells[cell]!;
  const overrides = set.map((nth) => settings[nth]!);
  return { toml: texts[text]!, table: "scenario", overrides, seed, packets: 300_000 };
}

/** Index of the mark that a datum of a figure's chart belongs to; -1 if there is none. */
export function markOf(figure: Content["figures"][string], datum: Record<string, unknown>): number {
  // Values that the original publication reports have no runs here.
  if (datum.mark === "reported") return -1;
  return figure.marks.findIndex(([values]) =>
    figure.columns.every((column, nth) => datum[column] === values[nth]),
  );
}
