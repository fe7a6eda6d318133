import { button, el, save } from "../dom";
import { imageOf, svgOf } from "../drawing/export";
import type { Plot } from "../drawing/plot";
import { quantity } from "../format";
import { hosted } from "./host";
import type { Lab } from "./lab";
import { command, nameOf, python } from "./script";

/** Size of a slide in CSS pixels, and its dots per CSS pixel. */
const SHEET = { width: 1280, height: 720, dots: 2 };

const closing = () => el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close"));

/** Buttons that share or save an experiment. */
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
      // In a notebook, the page has no address to share.
      !hosted && button("Link", "A link to this experiment", () => void this.show("Link", this.link(), "")),
      button("TOML", "As TOML", () => void this.show("TOML", lab.text, ".toml")),
      button("Python", "As Python", () => void this.show("Python", python(this.title, this.lab.text), ".py")),
      button(
        "Command",
        "As a command",
        () => void this.show("Command", command(this.title, this.lab.text), ".sh"),
      ),
      button("Slide", "The plots as one picture", () => void this.slide()),
      button("Capture", "The packets as captures, for Wireshark", () => void this.capture()),
      this.dialog,
    );
  }

  private get title(): unknown {
    return this.lab.doc?.name;
  }

  /** Runs the scenario once more, with every interface captured. */
  private async capture(): Promise<void> {
    const made = await this.lab.captures();
    if (!made) return;
    const status = Array.isArray(made)
      ? el("p", {}, "What passed each interface, as pcapng, which Wireshark opens.")
      : el("p", { class: "failure" }, made.message);
    const saves = (Array.isArray(made) ? made : []).map(({ name, bytes }) => {
      const keep = () => save(new Blob([bytes], { type: "application/x-pcapng" }), `${name}.pcapng`);
      const size = el("span", { class: "soft" }, quantity(bytes.length, "B", 3));
      return el("li", {}, button(`${name}.pcapng`, `Save the capture of ${name}`, keep), " ", size);
    });
    this.dialog.replaceChildren(
      el("h2", {}, "Capture"),
      status,
      el("ul", { class: "captures" }, ...saves),
      closing(),
    );
    this.dialog.showModal();
  }

  private async show(title: string, what: string | Promise<string>, ending: string): Promise<void> {
    const text = await what;
    const box = el("textarea", { readonly: true, rows: ending ? 16 : 5, "aria-label": title }, text);
    const status = el("span", { class: "soft", role: "status" });
    const copy = button("Copy", `Copy ${title}`, async () => {
      box.select();
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        document.execCommand("copy");
      }
      status.textContent = "Copied.";
    });
    const acts = el("div", { class: "acts" }, copy);
    if (ending) {
      const keep = () => save(new Blob([text], { type: "text/plain" }), nameOf(this.title) + ending);
      acts.append(button("Save", `Save ${title}`, keep));
    }
    acts.append(closing(), status);
    this.dialog.replaceChildren(el("h2", {}, title), box, acts);
    this.dialog.showModal();
    box.focus();
  }

  /** Saves the plots, with titles and full legends, redrawn on one 16:9 sheet at twice the screen's resolution. */
  private async slide(): Promise<void> {
    const sheet = el("canvas", { width: SHEET.width * SHEET.dots, height: SHEET.height * SHEET.dots });
    const context = sheet.getContext("2d")!;
    const { theme } = this.plots[0]!;
    context.scale(SHEET.dots, SHEET.dots);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, SHEET.width, SHEET.height);
    context.fillStyle = theme.ink;
    context.font = "600 24px system-ui, sans-serif";
    context.fillText(String(this.lab.doc?.name ?? "Vazão"), 32, 44);
    if (this.lab.pinned) {
      context.font = "13px system-ui, sans-serif";
      context.textAlign = "right";
      context.fillText("- - -  the setting that it is compared with", SHEET.width - 32, 42);
    }
    // Panels of rows are as high as they need to be, up to a third, and as wide as the sheet; the others share what is left.
    let top = 62;
    const put = async (plot: Plot, left: number, width: number, height: number) =>
      context.drawImage(await imageOf(svgOf(plot, { width, height })), left, top, width, height);
    for (const plot of this.plots.filter(({ panel }) => panel.rows)) {
      const height = Math.min(plot.panel.height + 64, 260);
      await put(plot, 24, 1232, height);
      top += height + 10;
    }
    const others = this.plots.filter(({ panel }) => !panel.rows);
    const height = (SHEET.height - top) / Math.ceil(others.length / 2) - 10;
    for (const [nth, plot] of others.entries()) {
      await put(plot, 24 + (nth % 2) * 628, 604, height);
      if (nth % 2) top += height + 10;
    }
    sheet.toBlob((blob) => blob && save(blob, `${nameOf(this.title)}.png`));
  }
}
