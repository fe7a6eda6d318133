/** State of the page in its address, so that a link is an experiment. */

export interface State {
  toml: string;
  /** Text of the pinned scenario. */
  pinned?: string;
  lesson?: string;
  /** Positions of a drawing's nodes, as fractions of it. */
  places?: Record<string, { x: number; y: number }>;
  step?: number;
}

async function through(bytes: BlobPart, stream: GenericTransformStream): Promise<ArrayBuffer> {
  return new Response(new Blob([bytes]).stream().pipeThrough(stream as never)).arrayBuffer();
}

export async function packed(state: State): Promise<string> {
  const bytes = new Uint8Array(await through(JSON.stringify(state), new CompressionStream("deflate-raw")));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Decodes the state in an address; null if there is none that can be read. */
export async function opened(hash: string): Promise<State | null> {
  const text = hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!text) return null;
  try {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const json = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const state = JSON.parse(json) as State;
    return typeof state.toml === "string" ? state : null;
  } catch {
    return null;
  }
}
