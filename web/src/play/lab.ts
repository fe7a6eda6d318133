import { Run } from "../view/run";
import type { Catalogue } from "./catalogue";
import type { Answer, Capture, Fault, Progress, Runner, Tables } from "./engine";
import { copy, type Doc, get, isTable, type Key, read, set, type Toml, write } from "./toml";
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

/** Milliseconds within which successive changes are one gesture. */
const GESTURE = 800;
const MOST_PAST = 200;
const FEW = 0;
const SOME = 40_000;

/** State of the laboratory: the current scenario, its result, and the pinned result to compare with. */
export class Lab {
  text = "";
  doc: Doc | null = null;
  fault: Fault | null = null;
  result: Result | null = null;
  pinned: Result | null = null;
  chosen: Chosen = { kind: "scenario" };
  /** Positions of nodes moved by hand, as fractions of the drawing. */
  readonly places = new Map<string, { x: number; y: number }>();
  busy = false;
  /** Simulated seconds of a long run so far; 0 if there is none. */
  reached = 0;
  private readonly documents: Listener<unknown>[] = [];
  private readonly results: Listener<void>[] = [];
  private readonly choices: Listener<void>[] = [];
  private readonly progress: Listener<void>[] = [];
  private nth = 0;
  /** Texts before each change by hand, for `undo`. */
  private readonly past: string[] = [];
  /** Time of the last change by hand. */
  private touched = -Infinity;

  constructor(
    readonly engine: Runner,
    readonly catalogue: Catalogue,
  ) {}

  /** `listener` gets the origin of the change, which shows it already. */
  onDocument(listener: Listener<unknown>): void {
    this.documents.push(listener);
  }
  /** `listener` is called for results, faults and cancelled runs, and when the pinned result changes. */
  onResult(listener: Listener<void>): void {
    this.results.push(listener);
  }
  onChoice(listener: Listener<void>): void {
    this.choices.push(listener);
  }
  /** `listener` is called during a long run, and when it is over. */
  onProgress(listener: Listener<void>): void {
    this.progress.push(listener);
  }

  get until(): number {
    return parse(this.doc?.until, "duration")?.value ?? 0;
  }

  get flows(): Doc[] {
    return flowsOf(this.doc);
  }

  /** Maximum number of packets that a run of a text records. */
  private packetsOf(text: string): number {
    const found = read(text);
    const transports = flowsOf("doc" in found ? found.doc : null).map((flow) =>
      get(flow, ["transport", "kind"]),
    );
    return transports.some((name) => this.catalogue.find("transport", name)?.datagrams) ? SOME : FEW;
  }

  /** Loads another text; if it cannot be parsed, the last result stays. */
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

  /** Changes one value and rewrites the text. */
  edit(key: Key, value: Toml | undefined, by: unknown): void {
    if (!this.doc) return;
    this.remember();
    set(this.doc, key, value, this.catalogue);
    this.text = write(this.doc);
    for (const listener of this.documents) listener(by);
    void this.run();
  }

  /** Replaces the document. */
  replace(doc: Doc): void {
    this.touched = -Infinity;
    this.remember();
    this.touched = -Infinity;
    void this.load(write(doc));
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  /** Undoes the last change by hand. */
  undo(): void {
    const text = this.past.pop();
    this.touched = -Infinity;
    if (text !== undefined) void this.load(text);
  }

  /** Saves the current text for `undo`; during a slider's move, only the text before it. */
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
    const { network } = this.doc!;
    // Each flow has a pair of hosts, and each pair may have a link of its own.
    const pairs = this.catalogue.links(this.doc).find(({ each }) => each)?.each;
    if (isTable(network) && pairs) network[pairs] = Math.max(Number(network[pairs] ?? 1), flows.length + 1);
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

  /** Pins a result, to compare later ones with; null unpins it. */
  pin(result: Result | null): void {
    this.pinned = result;
    this.notify();
  }

  /** Runs a text without showing its result, for comparisons. */
  async tried(text: string): Promise<Result | null> {
    const answer = await this.engine.ask({ toml: text, packets: this.packetsOf(text) });
    return answer && resultOf(text, answer);
  }

  /** Runs a text and returns its recording with all packets; null if there is none. */
  async packets(text: string): Promise<ArrayBuffer | null> {
    const answer = await this.engine.ask({ toml: text, packets: 300_000 }, this.follow);
    this.follow(0);
    return answer?.tables ? answer.recording : null;
  }

  /** Captures of the current scenario's packets, or why there are none; null if the run was cancelled. */
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
      this.notify();
      return;
    }
    this.busy = true;
    const answer = await this.engine.ask({ toml: text, packets: this.packetsOf(text) }, this.follow);
    // An earlier result is shown while the latest request runs.
    if (nth === this.nth) {
      this.busy = false;
      this.follow(0);
    }
    // A later request replaced it, or it was cancelled.
    if (!answer) {
      if (nth === this.nth) this.notify();
      return;
    }
    if (answer.error) {
      this.fault = answer.error;
    } else {
      this.fault = null;
      this.result = resultOf(text, answer);
    }
    this.notify();
  }

  private notify(): void {
    for (const listener of this.results) listener();
  }
}

const flowsOf = (doc: Doc | null): Doc[] => (Array.isArray(doc?.flow) ? doc.flow.filter(isTable) : []);

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
