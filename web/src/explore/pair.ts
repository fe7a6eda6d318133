/** Runs as addresses of the viewer: one, or two that are drawn over each other. */

import { el } from "../dom";

export interface Run {
  id: string;
  dir: string;
}

/** Address at which one run is drawn, or two over each other. */
export function address([first, second]: readonly Run[]): string {
  const asked = new URLSearchParams({ dir: first?.dir ?? "" });
  if (second) {
    asked.set("beside", second.id);
    asked.set("beside_dir", second.dir);
  }
  return `/view/${encodeURIComponent(first?.id ?? "")}?${asked}`;
}

/** Two runs to be drawn over each other: of a third that is ticked, the first gives way. */
export class Pair {
  readonly link = el("a", { class: "compare", target: "_blank", rel: "noopener", role: "link" });
  private readonly ticked: { run: Run; box: HTMLInputElement }[] = [];

  constructor() {
    this.told();
  }

  box(run: Run): HTMLInputElement {
    const box = el("input", {
      type: "checkbox",
      "aria-label": `compare ${run.id}`,
      onchange: () => {
        const at = this.ticked.findIndex((one) => one.box === box);
        if (at >= 0) this.ticked.splice(at, 1);
        if (box.checked) this.ticked.push({ run, box });
        if (this.ticked.length > 2) this.ticked.shift()!.box.checked = false;
        this.told();
      },
    });
    return box;
  }

  private told(): void {
    const runs = this.ticked.map((one) => one.run);
    const left = ["tick two runs to compare them", "tick one more run to compare"][runs.length];
    this.link.textContent = left ?? "compare the two, packet by packet";
    this.link.setAttribute("aria-disabled", String(left !== undefined));
    if (left === undefined) this.link.setAttribute("href", address(runs));
    else this.link.removeAttribute("href");
  }
}
