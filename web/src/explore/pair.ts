/** Addresses of the viewer for one run, or for two overlaid. */

import { el } from "../dom";

export interface Run {
  id: string;
  dir: string;
}

/** Path of the page that waits while the server runs a run again. */
export const RUNNING = "/running/";

/** Address that shows one run, or two overlaid. */
export function address([first, second]: readonly Run[]): string {
  const asked = new URLSearchParams({ dir: first?.dir ?? "" });
  if (second) {
    asked.set("beside", second.id);
    asked.set("beside_dir", second.dir);
  }
  return `${RUNNING}${encodeURIComponent(first?.id ?? "")}?${asked}`;
}

/** Request to the server for the runs of an `address`. */
export function asked(path: string, search: string): Record<string, string> {
  const query = new URLSearchParams(search);
  const named = ["dir", "beside", "beside_dir"].filter((name) => query.has(name));
  const run = decodeURIComponent(path.slice(RUNNING.length));
  return { run, ...Object.fromEntries(named.map((name) => [name, query.get(name)!])) };
}

interface Ticked {
  run: Run;
  /** Text that distinguishes the run from others. */
  text: string;
  box: HTMLInputElement;
}

const same = (one: Run, other: Run): boolean => one.id === other.id && one.dir === other.dir;

/** Two runs to overlay, chosen by checkbox from behind one or two points; ticking a third drops the first. */
export class Pair {
  readonly root = el("div", { class: "pair" });
  private readonly link = el("a", { class: "compare", target: "_blank", rel: "noopener", role: "link" });
  private readonly ticked: Ticked[] = [];

  constructor() {
    this.update();
  }

  box(run: Run, text: string): HTMLInputElement {
    const before = this.ticked.find((one) => same(one.run, run));
    const box = el("input", {
      type: "checkbox",
      "aria-label": `compare ${run.id}`,
      checked: before !== undefined,
      onchange: () => {
        const at = this.ticked.findIndex((one) => same(one.run, run));
        if (at >= 0) this.ticked.splice(at, 1);
        if (box.checked) this.ticked.push({ run, text, box });
        if (this.ticked.length > 2) this.ticked.shift()!.box.checked = false;
        this.update();
      },
    });
    if (before) before.box = box;
    return box;
  }

  private update(): void {
    const runs = this.ticked.map((one) => one.run);
    const left = [
      "tick two runs to compare them; they may be behind two points",
      "tick one more run to compare, behind this point or another",
    ][runs.length];
    this.link.textContent = left ?? "compare the two, packet by packet";
    this.link.setAttribute("aria-disabled", String(left !== undefined));
    if (left === undefined) this.link.setAttribute("href", address(runs));
    else this.link.removeAttribute("href");
    this.root.replaceChildren(
      this.link,
      ...this.ticked.map(({ run, text }) =>
        el(
          "p",
          { class: "dim" },
          el("span", { class: "mono", title: run.id }, run.id.slice(0, SHORT)),
          ` ${text}`,
        ),
      ),
    );
  }
}

/** Length of the prefix of a run's identifier that distinguishes it from others. */
export const SHORT = 8;
