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
  /** Dotted path of the table that is the scenario; without it all of the text. */
  table?: string;
  /** Keys with values that are set in it. */
  overrides?: [string, unknown][];
  seed?: number;
  packets: number;
  /** Whether each interface's packets are captured. */
  capture?: boolean;
}

export interface Capture {
  /** Interface. */
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Called with the simulated seconds of a run that goes on. */
export type Progress = (seconds: number) => void;

export interface Answer {
  tables?: Tables;
  run_id?: string;
  /** Version of the engine. */
  engine?: string;
  error?: Fault;
  recording: ArrayBuffer;
  /** In pcapng. */
  captures: Capture[];
  /** How long the worker took, in milliseconds. */
  took: number;
}

interface Job {
  request: Request;
  done(answer: Answer | null): void;
  progress?: Progress;
}

/** Message of the worker: where a run is, its answer, or why there is none. */
interface Told {
  nth: number;
  seconds?: number;
  answer?: string;
  files?: ArrayBuffer;
  failure?: string;
}

/** Whatever runs scenarios for the page: the latest request counts, the others are answered by null. */
export interface Runner {
  ask(request: Request, progress?: Progress): Promise<Answer | null>;
  /** Ends the run that is under way, which is answered by null. */
  stop(): void;
}

/** A run that is older than this is not waited for when another one is wanted. */
const PATIENCE = 150;

const packed = () => document.querySelector("script[data-engine]")?.textContent;

/** Whether the page has the engine in it; a page that a server gives asks the server's. */
export const hasEngine = (): boolean => !!packed();

/** Engine text in the page; throws a sentence for people where there is none. */
export async function compiled(): Promise<WebAssembly.Module> {
  const text = packed();
  if (!text) throw new Error("This page has no engine in it.");
  return WebAssembly.compile(await unpacked(fromBase64(text)));
}

/**
 * The engine in a worker, one run at a time. Of requests that come while it runs only the latest is kept; the others are
 * answered by null. A long run that is no longer wanted ends with its worker.
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
  /** Workers that were ended before their run was. */
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

  /** Ends the run that is under way, which is answered by null. */
  stop(): void {
    if (this.running) this.cancel();
  }

  private begin(): void {
    const worker = new Worker(this.source);
    worker.postMessage({ module: this.module });
    worker.addEventListener("message", ({ data }) => this.told(data));
    worker.addEventListener("error", ({ message }) => this.told({ nth: this.nth, failure: message }));
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

  private told(data: Told): void {
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

/** Takes an answer's files apart: the recording, then the captures. */
export function read(json = "{}", files = new ArrayBuffer(0)): Omit<Answer, "took"> {
  const told = JSON.parse(json);
  let at: number = told.recording ?? 0;
  const captures = Object.entries<number>(told.captures ?? {}).map(([name, length]) => {
    at += length;
    return { name, bytes: new Uint8Array(files, at - length, length) };
  });
  return { ...told, recording: captures.length ? files.slice(0, told.recording) : files, captures };
}
