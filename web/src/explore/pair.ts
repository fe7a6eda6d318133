/** Runs as addresses of the viewer: one, or two that are drawn over each other. */

import { el } from "../dom";

export interface Run {
  id: string;
  dir: string;
}

/** Path of the page that waits for a run. */
export const RUNNING = "/running/";

/** Address at which one run is drawn, or two over each other. */
export function address([first, second]: readonly Run[]): string {
  const asked = new URLSearchParams({ dir: first?.dir ?? "" });
  if (second) {
    asked.set("beside", second.id);
    asked.set("beside_dir", second.dir);
  }
  return `${RUNNING}${encodeURIComponent(first?.id ?? "")}?${asked}`;
}

/** The runs of such an address, as the server is asked for them. */
export function asked(path: string, search: string): Record<string, string> {
  const query = new URLSearchParams(search);
  const named = ["dir", "beside", "beside_dir"].filter((name) => query.has(name));
  const run = decodeURIComponent(path.slice(RUNNING.length));
  return { run, ...Object.fromEntries(named.map((name) => [name, query.get(name)!])) };
}

interface Ticked {
  run: Run;
  /** Words that tell the run from others. */
  said: string;
  box: HTMLInputElement;
}

const same = (one: Run, other: Run): boolean => one.id === other.id && one.dir === other.dir;

/** Two runs to be drawn over each other, behind one point or two: of a third that is ticked, the first gives way. */
export class Pair {
  readonly root = el("div", { class: "pair" });
  private readonly link = el("a", { class: "compare", target: "_blank", rel: "noopener", role: "link" });
  private readonly ticked: Ticked[] = [];

  constructor() {
    this.told();
  }

  box(run: Run, said: string): HTMLInputElement {
    const before = this.ticked.find((one) => same(one.run, run));
    const box = el("input", {
      type: "checkbox",
      "aria-label": `compare ${run.id}`,
      checked: before !== undefined,
      onchange: () => {
        const at = this.ticked.findIndex((one) => same(one.run, run));
        if (at >= 0) this.ticked.splice(at, 1);
        if (box.checked) this.ticked.push({ run, said, box });
        if (this.ticked.length > 2) this.ticked.shift()!.box.checked = false;
        this.told();
      },
    });
    if (before) before.box = box;
    return box;
  }

  private told(): void {
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
      ...this.ticked.map(({ run, said }) =>
        el(
          "p",
          { class: "dim" },
          el("span", { class: "mono", title: run.id }, run.id.slice(0, SHORT)),
          ` ${said}`,
        ),
      ),
    );
  }
}

/** Letters of a run's identity that tell it from others. */
export const SHORT = 8;
