/**
 * Body of the worker. Its source text is all that the worker gets: it must not refer to the rest of the page's script.
 */
export function work(): void {
  interface Exports {
    memory: WebAssembly.Memory;
    reserve(length: number): number;
    run(place: number, length: number): number;
    release(place: number, length: number): void;
  }
  /** Milliseconds between two progress reports. */
  const EVERY = 100;
  const page = self as unknown as Worker;
  let ready: Promise<WebAssembly.Instance> | null = null;
  let nth = 0;
  let last = 0;
  const clock = (seconds: number) => {
    const now = performance.now();
    if (now - last < EVERY) return;
    last = now;
    page.postMessage({ nth, seconds });
  };
  self.addEventListener("message", async ({ data }: MessageEvent) => {
    if (data.module) {
      ready = WebAssembly.instantiate(data.module as WebAssembly.Module, { page: { clock } });
      return;
    }
    try {
      nth = data.nth;
      last = performance.now();
      const engine = (await ready!).exports as unknown as Exports;
      const request = new TextEncoder().encode(JSON.stringify(data.request));
      const place = engine.reserve(request.length);
      new Uint8Array(engine.memory.buffer, place, request.length).set(request);
      const at = engine.run(place, request.length);
      // The run may have grown the memory, which replaces its buffer.
      const { buffer } = engine.memory;
      const view = new DataView(buffer);
      const length = Number(view.getBigUint64(at, true));
      const json = view.getUint32(at + 8, true);
      const answer = new TextDecoder().decode(new Uint8Array(buffer, at + 12, json));
      const files = (buffer as ArrayBuffer).slice(at + 12 + json, at + 8 + length);
      engine.release(at, length + 8);
      page.postMessage({ nth, answer, files }, [files]);
    } catch (error) {
      page.postMessage({ nth, failure: String(error) });
    }
  });
}
