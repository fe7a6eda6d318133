import { fromBase64, unpacked } from "../view/decode";
import { work } from "./worker";

export type Value = number | string | boolean | null;
export type Table = Record<string, Value[]>;
export type Tables = Record<string, Table>;

export interface Fault {
  line?: number | null;
  key?: string | null;
  problem: string;
  suggestion?: string | null;
  message: string;
}

export interface Request {
  toml: string;
  /** Dotted path of the scenario's table; if absent, the whole text is the scenario. */
  table?: string;
  /** Keys and the values to set in the scenario. */
  overrides?: [string, unknown][];
  seed?: number;
  packets: number;
  /** Whether each interface's packets are captured. */
  capture?: boolean;
}

export interface Capture {
  /** Name of the interface. */
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Called with the simulated seconds of a run in progress. */
export type Progress = (seconds: number) => void;

export interface Answer {
  tables?: Tables;
  run_id?: string;
  /** Version of the engine. */
  engine?: string;
  error?: Fault;
  recording: ArrayBuffer;
  /** Captures in pcapng format. */
  captures: Capture[];
  /** Time that the worker took, in milliseconds. */
  took: number;
}

interface Job {
  request: Request;
  done(answer: Answer | null): void;
  progress?: Progress;
}

/** Message from the worker: a run's progress, its answer, or why there is none. */
interface Message {
  nth: number;
  seconds?: number;
  answer?: string;
  files?: ArrayBuffer;
  failure?: string;
}

/** Runs scenarios for the page: only the latest request counts, the others resolve to null. */
export interface Runner {
  ask(request: Request, progress?: Progress): Promise<Answer | null>;
  /** Cancels the current run, whose request resolves to null. */
  stop(): void;
}

/** Milliseconds after which a newer request cancels a run instead of waiting for it. */
const PATIENCE = 150;

const packed = () => document.querySelector("script[data-engine]")?.textContent;

/** Whether the page embeds the engine; a page from a server uses the server's. */
export const hasEngine = (): boolean => !!packed();

/** Compiles the engine that the page embeds; throws a readable message if there is none. */
export async function compiled(): Promise<WebAssembly.Module> {
  const text = packed();
  if (!text) throw new Error("This page has no engine in it.");
  return WebAssembly.compile(await unpacked(fromBase64(text)));
}

/**
 * The engine in a worker, one run at a time. Of the requests that come during a run, only the latest is kept; the
 * others resolve to null. A long run that is no longer wanted is cancelled by terminating its worker.
 */
export class Engine implements Runner {
  private worker: Worker | null = null;
  private running: Job | null = null;
  private waiting: Job | null = null;
  private since = 0;
  private nth = 0;
  private readonly source = URL.createObjectURL(
    new Blob([`(${work.toString()})()`], { type: "text/javascript" }),
  );
  /** Number of workers that were terminated during a run. */
  cancelled = 0;

  constructor(private readonly module: WebAssembly.Module) {
    this.begin();
  }

  ask(request: Request, progress?: Progress): Promise<Answer | null> {
    return new Promise((done) => {
      this.waiting?.done(null);
      this.waiting = { request, done, progress };
      this.next();
    });
  }

  /** Cancels the current run, whose request resolves to null. */
  stop(): void {
    if (this.running) this.cancel();
  }

  private begin(): void {
    const worker = new Worker(this.source);
    worker.postMessage({ module: this.module });
    worker.addEventListener("message", ({ data }) => this.receive(data));
    worker.addEventListener("error", ({ message }) => this.receive({ nth: this.nth, failure: message }));
    this.worker = worker;
  }

  private next(): void {
    if (!this.waiting) return;
    if (this.running) {
      const left = PATIENCE - (performance.now() - this.since);
      if (left <= 0) this.cancel();
      else setTimeout(() => this.next(), left);
      return;
    }
    this.running = this.waiting;
    this.waiting = null;
    this.since = performance.now();
    this.nth += 1;
    this.worker!.postMessage({ nth: this.nth, request: this.running.request });
  }

  private cancel(): void {
    this.cancelled += 1;
    this.worker!.terminate();
    this.running!.done(null);
    this.running = null;
    this.begin();
    this.next();
  }

  private receive(data: Message): void {
    if (!this.running || data.nth !== this.nth) return;
    const { done, progress } = this.running;
    if (data.seconds !== undefined) {
      progress?.(data.seconds);
      return;
    }
    this.running = null;
    const took = performance.now() - this.since;
    if (data.failure !== undefined) {
      const problem = `the engine stopped: ${data.failure}`;
      done({ error: { problem, message: problem }, ...read(), took });
      this.worker!.terminate();
      this.begin();
    } else done({ ...read(data.answer, data.files), took });
    this.next();
  }
}

/** Splits an answer's files: the recording, then the captures. */
export function read(json = "{}", files = new ArrayBuffer(0)): Omit<Answer, "took"> {
  const content = JSON.parse(json);
  let at: number = content.recording ?? 0;
  const captures = Object.entries<number>(content.captures ?? {}).map(([name, length]) => {
    at += length;
    return { name, bytes: new Uint8Array(files, at - length, length) };
  });
  return { ...content, recording: captures.length ? files.slice(0, content.recording) : files, captures };
}
