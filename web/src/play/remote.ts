import { type Answer, type Progress, type Request, type Runner, read } from "./engine";

/** Milliseconds between two requests for a run's progress. */
const EVERY = 200;

const ask = (path: string, content: unknown = {}) =>
  fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });

/** The engine of the server that serves the page. A newer request ends the run of an older one there. */
export class Remote implements Runner {
  private latest = 0;

  async ask(request: Request, progress?: Progress): Promise<Answer | null> {
    this.latest += 1;
    const number = this.latest;
    const since = performance.now();
    const watch = setInterval(async () => {
      const { seconds } = await (await ask("/api/reached")).json();
      if (number === this.latest && seconds) progress?.(seconds);
    }, EVERY);
    try {
      const answer = await ask("/api/run", request);
      // A newer request replaced it, or it was cancelled.
      if (answer.status === 409 || number !== this.latest) return null;
      if (!answer.ok) throw new Error(await answer.text());
      const bytes = await answer.arrayBuffer();
      const json = new DataView(bytes).getUint32(0, true);
      const text = new TextDecoder().decode(new Uint8Array(bytes, 4, json));
      return { ...read(text, bytes.slice(4 + json)), took: performance.now() - since };
    } catch (error) {
      const problem = `the server does not answer: ${error instanceof Error ? error.message : error}`;
      return { ...read(), error: { problem, message: problem }, took: performance.now() - since };
    } finally {
      clearInterval(watch);
      if (number === this.latest) this.latest += 1;
    }
  }

  stop(): void {
    void ask("/api/stop");
  }
}
