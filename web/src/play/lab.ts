import { Run } from "../view/run";
import type { Catalogue } from "./catalogue";
import type { Answer, Capture, Fault, Progress, Runner, Tables } from "./engine";
import { copy, type Doc, isTable, type Key, read, set, type Toml, write } from "./toml";
import { parse } from "./units";

export interface Result {
  text: string;
  tables: Tables;
  run: Run;
  recording: ArrayBuffer;
  took: number;
}

export type Chosen =
  | { kind: "scenario" }
  | { kind: "link"; key: Key; name: string }
  | { kind: "node"; name: string }
  | { kind: "flow"; index: number };

type Listener<T> = (value: T) => void;

/** Of datagrams nobody says when they were delivered: their packets do. */
const DATAGRAMS = /kind\s*=\s*"(udp|dccp)"|transport\s*=\s*"(udp|dccp)"/;
/** Milliseconds between changes that are one gesture. */
const GESTURE = 800;
const MOST_PAST = 200;
const FEW = 0;
const SOME = 40_000;

/** The setting that is tried, its result, and the setting that it is compared with. */
export class Lab {
  text = "";
  doc: Doc | null = null;
  fault: Fault | null = null;
  result: Result | null = null;
  pinned: Result | null = null;
  chosen: Chosen = { kind: "scenario" };
  /** Where someone has put nodes of a drawing, by shares of it. */
  readonly places = new Map<string, { x: number; y: number }>();
  busy = false;
  /** Simulated seconds of a run that takes a while; 0 when none does. */
  reached = 0;
  private readonly documents: Listener<unknown>[] = [];
  private readonly results: Listener<void>[] = [];
  private readonly choices: Listener<void>[] = [];
  private readonly progress: Listener<void>[] = [];
  private nth = 0;
  /** Texts before the changes that were made by hand, and when the last was. */
  private readonly past: string[] = [];
  private touched = -Infinity;

  constructor(
    readonly engine: Runner,
    readonly catalogue: Catalogue,
  ) {}

  /** `listener` gets who changed the document: it shows the change already. */
  onDocument(listener: Listener<unknown>): void {
    this.documents.push(listener);
  }
  /** `listener` is called for results, faults, and when one begins to be waited for. */
  onResult(listener: Listener<void>): void {
    this.results.push(listener);
  }
  onChoice(listener: Listener<void>): void {
    this.choices.push(listener);
  }
  /** `listener` is called while a run takes a while, and when it is over. */
  onProgress(listener: Listener<void>): void {
    this.progress.push(listener);
  }

  get until(): number {
    return parse(this.doc?.until, "duration")?.value ?? 0;
  }

  get flows(): Doc[] {
    const flows = this.doc?.flow;
    return Array.isArray(flows) ? flows.filter(isTable) : [];
  }

  /** Takes another text; where it cannot be read, the last result stays. */
  load(text: string, by: unknown = null): Promise<void> {
    this.text = text;
    const found = read(text);
    if ("doc" in found) this.doc = found.doc;
    else {
      this.doc = null;
      this.fault = found.fault;
    }
    for (const listener of this.documents) listener(by);
    return this.run();
  }

  /** Changes one value and writes the text anew. */
  edit(key: Key, value: Toml | undefined, by: unknown): void {
    if (!this.doc) return;
    this.remember();
    set(this.doc, key, value);
    this.text = write(this.doc);
    for (const listener of this.documents) listener(by);
    void this.run();
  }

  /** Takes another document. */
  replace(doc: Doc): void {
    this.touched = -Infinity;
    this.remember();
    this.touched = -Infinity;
    void this.load(write(doc));
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  /** Takes back the last change that was made by hand. */
  undo(): void {
    const text = this.past.pop();
    this.touched = -Infinity;
    if (text !== undefined) void this.load(text);
  }

  /** Keeps the present text; of a slider that moves, the one before. */
  private remember(): void {
    const now = performance.now();
    if (now - this.touched > GESTURE) this.past.push(this.text);
    if (this.past.length > MOST_PAST) this.past.shift();
    this.touched = now;
  }

  addFlow(like: number): void {
    const flows = this.flows;
    const made = copy(flows[like]!);
    delete made.client;
    delete made.server;
    const network = this.doc!.network;
    if (isTable(network) && network.topology === "dumbbell") {
      network.pairs = Math.max(Number(network.pairs ?? 1), flows.length + 1);
    }
    this.chosen = { kind: "flow", index: flows.length };
    this.edit(["flow"], [...flows, made], null);
    for (const listener of this.choices) listener();
  }

  removeFlow(index: number): void {
    this.chosen = { kind: "scenario" };
    this.edit(
      ["flow"],
      this.flows.filter((_, nth) => nth !== index),
      null,
    );
    for (const listener of this.choices) listener();
  }

  choose(chosen: Chosen): void {
    this.chosen = chosen;
    for (const listener of this.choices) listener();
  }

  /** Keeps the present result beside those that follow; null lets it go. */
  pin(result: Result | null): void {
    this.pinned = result;
    this.told();
  }

  /** Runs a text on the side, for comparisons. */
  async tried(text: string): Promise<Result | null> {
    const answer = await this.engine.ask({ toml: text, packets: packetsOf(text) });
    return answer && resultOf(text, answer);
  }

  /** The present setting with all its packets. */
  async packets(text: string): Promise<ArrayBuffer | null> {
    const answer = await this.engine.ask({ toml: text, packets: 300_000 }, this.follow);
    this.follow(0);
    return answer?.tables ? answer.recording : null;
  }

  /** The present setting's packets as captures, or why there are none; null when it was cancelled. */
  async captures(): Promise<Capture[] | Fault | null> {
    const answer = await this.engine.ask({ toml: this.text, packets: 1, capture: true }, this.follow);
    this.follow(0);
    return answer && (answer.error ?? answer.captures);
  }

  private readonly follow: Progress = (seconds) => {
    if (seconds === this.reached) return;
    this.reached = seconds;
    for (const listener of this.progress) listener();
  };

  private async run(): Promise<void> {
    const { text } = this;
    this.nth += 1;
    const nth = this.nth;
    if (!this.doc) {
      this.told();
      return;
    }
    this.busy = true;
    const answer = await this.engine.ask({ toml: text, packets: packetsOf(text) }, this.follow);
    // An earlier result than the last is shown while that runs.
    if (nth === this.nth) {
      this.busy = false;
      this.follow(0);
    }
    // A later request took its place, or it was cancelled.
    if (!answer) {
      if (nth === this.nth) this.told();
      return;
    }
    if (answer.error) {
      this.fault = answer.error;
    } else {
      this.fault = null;
      this.result = resultOf(text, answer);
    }
    this.told();
  }

  private told(): void {
    for (const listener of this.results) listener();
  }
}

const packetsOf = (text: string) => (DATAGRAMS.test(text) ? SOME : FEW);

function resultOf(text: string, answer: Answer): Result | null {
  if (!answer.tables) return null;
  const run = new Run(answer.recording, "");
  return { text, tables: answer.tables, run, recording: answer.recording, took: answer.took };
}

/** Name of a flow for legends and tables. */
export function flowName(lab: Lab, flow: number): string {
  const header = lab.result?.run.recording.header.flows[flow];
  return header
    ? [flow, header.transport, header.cc].filter((part) => part !== "" && part !== "none").join(" ")
    : `${flow}`;
}
