import { el } from "../dom";
import type { Told } from "../play/host";

/** What a notebook's host has of a widget, as anywidget names it. */
interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
  save_changes(): void;
}

interface Place {
  model: Model;
  el: HTMLElement;
}

/**
 * Shows a page in a frame whose origin is nobody's: neither's style, keys and storage are the other's, and the page keeps its
 * own content policy. They tell each other the scenario, as text, and nothing else.
 */
function render({ model, el: home }: Place): () => void {
  const frame = el("iframe", { sandbox: String(model.get("_sandbox")), title: "Vazão" });
  const size = () => {
    frame.style.cssText = `display:block;width:100%;border:0;height:${Number(model.get("height"))}px`;
  };
  // What the page told last is not told back: its sliders may be elsewhere by then.
  let told: unknown = null;
  const tell = () => {
    const toml = model.get("toml");
    if (typeof toml !== "string" || toml === told) return;
    told = toml;
    // The frame has no origin that could be named; only the document that this put there can be in it.
    frame.contentWindow?.postMessage({ vazao: { toml } } satisfies { vazao: Told }, "*");
  };
  const heard = ({ source, data }: MessageEvent) => {
    if (!frame.contentWindow || source !== frame.contentWindow) return;
    const said = data?.vazao as Told | undefined;
    if (said?.ready) tell();
    else if (typeof said?.toml === "string") {
      told = said.toml;
      model.set("toml", said.toml);
      model.save_changes();
    }
  };
  size();
  addEventListener("message", heard);
  model.on("change:toml", tell);
  model.on("change:height", size);
  frame.srcdoc = String(model.get("_text"));
  home.append(frame);
  return () => {
    removeEventListener("message", heard);
    model.off("change:toml", tell);
    model.off("change:height", size);
    frame.remove();
  };
}

export default { render };
