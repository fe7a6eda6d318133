import { button, el } from "../dom";
import { quantity } from "../format";
import type { Lab } from "./lab";

/** Progress of a long run, with a button to cancel it (or Escape). */
export class Waiting {
  readonly element: HTMLElement;
  private readonly bar = el("progress", { max: 1, "aria-label": "Simulated so far" });
  private readonly text = el("span", { class: "soft" });

  constructor(private readonly lab: Lab) {
    const cancel = button("Cancel", "End this run (Escape)", () => lab.engine.stop(), "small");
    this.element = el("span", { class: "waiting", hidden: true }, this.bar, this.text, cancel);
    lab.onProgress(() => this.show());
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.element.hidden) return;
      event.preventDefault();
      lab.engine.stop();
    });
  }

  private show(): void {
    const { reached, until } = this.lab;
    this.element.hidden = reached === 0;
    // Without an end time, progress is indeterminate.
    if (until) this.bar.value = Math.min(1, reached / until);
    else this.bar.removeAttribute("value");
    this.text.textContent = `${quantity(reached, "s", 3)}${until ? ` of ${quantity(until, "s", 3)}` : ""}`;
  }
}
