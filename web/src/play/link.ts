/** The state of the page in its address: a link is an experiment. */

export interface State {
  toml: string;
  /** Text of the setting that is compared. */
  pinned?: string;
  lesson?: string;
  /** Where nodes of a drawing stand, by shares of it. */
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

/** What an address says; null if it says nothing that can be read. */
export async function opened(hash: string): Promise<State | null> {
  const text = hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/");
  if (!text) return null;
  try {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const told = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const state = JSON.parse(told) as State;
    return typeof state.toml === "string" ? state : null;
  } catch {
    return null;
  }
}
