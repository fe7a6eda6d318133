import type { Request } from "../play/engine";
import { fromBase64, unpacked } from "../view/decode";
import type { Words } from "./words";

/** Why a run cannot be run in a page: it needs something that a page has not. */
export type Needs = "" | "guest" | "simulator" | "program" | "file";

/** A combination of levels: what its runs, which differ in their seeds, have in common. */
interface Cell {
  levels: string;
  /** Place in `texts`. */
  text: number;
  /** Places in `settings`. */
  set: number[];
  /** The study's part. */
  part: string;
  needs: Needs;
}

/** Values of the figure's columns, what the mark is called, places in `runs`, and how many runs it has in all. */
export type Mark = [(string | number)[], string, number[], number];

/** `run_id`, place in `cells`, seed, events, goodput of the first flows in bit/s. */
type Stored = [string, number, number, number | null, (number | null)[]];

export interface Content {
  figures: Record<string, { columns: string[]; marks: Mark[] }>;
  runs: Stored[];
  cells: Cell[];
  settings: [string, unknown][];
  texts: string[];
  words: Words;
  /** Version of the engine that made the stored rows. */
  engine: string;
  /** Address of the explorer's page; empty where no server has one. */
  explorer: string;
  /** Command that opens a run in the viewer, but for the `run_id`. */
  command: string;
}

/** A stored run, as a reader chooses it. */
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

/** Text of an element of the page that holds it compressed; throws where there is none. */
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

/** Address of the explorer with nothing but runs in it; they are of one part, and of others perhaps. */
export function explored({ explorer, runs, cells }: Content, places: number[]): string {
  const chosen = places.map((place) => runs[place]!);
  const state = {
    part: cells[chosen[0]![1]]!.part,
    filters: [{ column: "run_id", values: chosen.map(([id]) => id) }],
  };
  return `${explorer}#${encodeURIComponent(JSON.stringify(state))}`;
}

/** Request to the engine for a run. */
export function requestOf({ runs, cells, settings, texts }: Content, place: number): Request {
  const [, cell, seed] = runs[place]!;
  const { text, set } = cells[cell]!;
  const overrides = set.map((nth) => settings[nth]!);
  return { toml: texts[text]!, table: "scenario", overrides, seed, packets: 300_000 };
}

/** The mark of a figure that a datum of its chart belongs to; -1 where there is none. */
export function markOf(figure: Content["figures"][string], datum: Record<string, unknown>): number {
  // A mark of the original is none of our runs.
  if (datum.mark === "reported") return -1;
  return figure.marks.findIndex(([values]) =>
    figure.columns.every((column, nth) => datum[column] === values[nth]),
  );
}
