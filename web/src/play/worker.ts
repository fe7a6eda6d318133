/**
 * What runs in the worker. Its text is all that the worker gets: it names nothing of the page's script.
 */
export function work(): void {
  interface Exports {
    memory: WebAssembly.Memory;
    reserve(length: number): number;
    run(place: number, length: number): number;
    release(place: number, length: number): void;
  }
  let ready: Promise<WebAssembly.Instance> | null = null;
  self.addEventListener("message", async ({ data }: MessageEvent) => {
    if (data.module) {
      ready = WebAssembly.instantiate(data.module as WebAssembly.Module, {});
      return;
    }
    try {
      const engine = (await ready!).exports as unknown as Exports;
      const request = new TextEncoder().encode(JSON.stringify(data.request));
      const place = engine.reserve(request.length);
      new Uint8Array(engine.memory.buffer, place, request.length).set(request);
      const at = engine.run(place, request.length);
      // The run may have grown the memory: the buffer is another one now.
      const { buffer } = engine.memory;
      const view = new DataView(buffer);
      const length = Number(view.getBigUint64(at, true));
      const json = view.getUint32(at + 8, true);
      const told = new TextDecoder().decode(new Uint8Array(buffer, at + 12, json));
      const recording = (buffer as ArrayBuffer).slice(at + 12 + json, at + 8 + length);
      engine.release(at, length + 8);
      (self as unknown as Worker).postMessage({ nth: data.nth, told, recording }, [recording]);
    } catch (error) {
      (self as unknown as Worker).postMessage({ nth: data.nth, failure: String(error) });
    }
  });
}
