import { el } from "../dom";
import type { HostMessage } from "../play/host";

/** A widget's model in the notebook's host, as anywidget defines it. */
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
 * Shows a page in a sandboxed frame with an opaque origin: page and notebook share no style, keys or storage, and the
 * page keeps its own content security policy. They exchange only the scenario, as text.
 */
function render({ model, el: home }: Place): () => void {
  const frame = el("iframe", { sandbox: String(model.get("_sandbox")), title: "Vazão" });
  const size = () => {
    frame.style.cssText = `display:block;width:100%;border:0;height:${Number(model.get("height"))}px`;
  };
  // The page's latest scenario is not sent back: its sliders may have moved by then.
  let latest: unknown = null;
  const send = () => {
    const toml = model.get("toml");
    if (typeof toml !== "string" || toml === latest) return;
    latest = toml;
    // The frame's opaque origin cannot be named; only the document set below can be in it.
    frame.contentWindow?.postMessage({ vazao: { toml } } satisfies { vazao: HostMessage }, "*");
  };
  const receive = ({ source, data }: MessageEvent) => {
    if (!frame.contentWindow || source !== frame.contentWindow) return;
    const message = data?.vazao as HostMessage | undefined;
    if (message?.ready) send();
    else if (typeof message?.toml === "string") {
      latest = message.toml;
      model.set("toml", message.toml);
      model.save_changes();
    }
  };
  size();
  addEventListener("message", receive);
  model.on("change:toml", send);
  model.on("change:height", size);
  frame.srcdoc = String(model.get("_text"));
  home.append(frame);
  return () => {
    removeEventListener("message", receive);
    model.off("change:toml", send);
    model.off("change:height", size);
    frame.remove();
  };
}

export default { render };
