import { button, el, save } from "../dom";
import { quantity } from "../format";
import type { Plot } from "../view/plot";
import { hosted } from "./host";
import type { Lab } from "./lab";
import { command, nameOf, python } from "./script";

const closing = () => el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close"));

/** The ways in which an experiment leaves the page. */
export class Share {
  readonly element: HTMLElement;
  private readonly dialog = el("dialog", { class: "share", "aria-label": "Share" });

  constructor(
    private readonly lab: Lab,
    private readonly plots: Plot[],
    private readonly link: () => Promise<string>,
  ) {
    this.element = el(
      "div",
      { class: "group" },
      // In a notebook there is no address that could be given to others.
      !hosted && button("Link", "A link to this experiment", () => void this.show("Link", this.link(), "")),
      button("TOML", "As TOML", () => void this.show("TOML", lab.text, ".toml")),
      button("Python", "As Python", () => void this.show("Python", python(this.title, this.lab.text), ".py")),
      button(
        "Command",
        "As a command",
        () => void this.show("Command", command(this.title, this.lab.text), ".sh"),
      ),
      button("Slide", "The plots as one picture", () => this.slide()),
      button("Capture", "The packets as captures, for Wireshark", () => void this.capture()),
      this.dialog,
    );
  }

  private get title(): unknown {
    return this.lab.doc?.name;
  }

  /** Runs the setting once more, with every interface captured. */
  private async capture(): Promise<void> {
    const made = await this.lab.captures();
    if (!made) return;
    const told = Array.isArray(made)
      ? el("p", {}, "What passed each interface, as pcapng, which Wireshark opens.")
      : el("p", { class: "failure" }, made.message);
    const saves = (Array.isArray(made) ? made : []).map(({ name, bytes }) => {
      const keep = () => save(new Blob([bytes], { type: "application/x-pcapng" }), `${name}.pcapng`);
      const size = el("span", { class: "soft" }, quantity(bytes.length, "B", 3));
      return el("li", {}, button(`${name}.pcapng`, `Save the capture of ${name}`, keep), " ", size);
    });
    this.dialog.replaceChildren(
      el("h2", {}, "Capture"),
      told,
      el("ul", { class: "captures" }, ...saves),
      closing(),
    );
    this.dialog.showModal();
  }

  private async show(title: string, what: string | Promise<string>, ending: string): Promise<void> {
    const text = await what;
    const box = el("textarea", { readonly: true, rows: ending ? 16 : 5, "aria-label": title }, text);
    const told = el("span", { class: "soft", role: "status" });
    const copy = button("Copy", `Copy ${title}`, async () => {
      box.select();
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        document.execCommand("copy");
      }
      told.textContent = "Copied.";
    });
    const acts = el("div", { class: "acts" }, copy);
    if (ending) {
      const keep = () => save(new Blob([text], { type: "text/plain" }), nameOf(this.title) + ending);
      acts.append(button("Save", `Save ${title}`, keep));
    }
    acts.append(closing(), told);
    this.dialog.replaceChildren(el("h2", {}, title), box, acts);
    this.dialog.showModal();
    box.focus();
  }

  /** The plots with their titles and legends, as they are, on one sheet of 16 to 9. */
  private slide(): void {
    const ratio = 2;
    const [width, height] = [1280, 720];
    const sheet = el("canvas", { width: width * ratio, height: height * ratio });
    const context = sheet.getContext("2d")!;
    const { theme } = this.plots[0]!;
    context.scale(ratio, ratio);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, width, height);
    context.fillStyle = theme.ink;
    context.font = "600 24px system-ui, sans-serif";
    context.fillText(String(this.lab.doc?.name ?? "Vazão"), 32, 44);
    this.plots.forEach((plot, nth) => {
      const [x, y] = [24 + (nth % 2) * 620, 66 + Math.floor(nth / 2) * 324];
      context.fillStyle = theme.ink;
      context.font = "600 15px system-ui, sans-serif";
      context.fillText(plot.panel.title, x + 8, y + 14);
      let at = x + 20 + context.measureText(plot.panel.title).width;
      context.font = "12px system-ui, sans-serif";
      for (const { label, colour } of plot.panel.keys()) {
        const wide = 20 + context.measureText(label).width;
        if (at + wide > x + 600) break;
        context.fillStyle = colour;
        context.fillRect(at, y + 8, 12, 3);
        context.fillStyle = theme.soft;
        context.fillText(label, at + 16, y + 14);
        at += wide + 12;
      }
      const { canvas } = plot;
      const scale = Math.min(604 / canvas.width, 280 / canvas.height);
      context.drawImage(canvas, x, y + 24, canvas.width * scale, canvas.height * scale);
    });
    sheet.toBlob((blob) => blob && save(blob, `${nameOf(this.title)}.png`));
  }
}
