import { el } from "../dom";
import type { Lab } from "./lab";

/** Editor for the scenario's TOML, with line numbers; it marks the line of an error. */
export class Editor {
  readonly element = el("section", { class: "editor", "aria-label": "Scenario as TOML" });
  private readonly box = el("textarea", {
    "aria-label": "TOML of the scenario",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    wrap: "off",
    rows: 16,
  });
  private readonly numbers = el("div", { class: "numbers", "aria-hidden": "true" });
  private readonly problem = el("p", { class: "problem", role: "alert", hidden: true });

  constructor(private readonly lab: Lab) {
    const desk = el("div", { class: "text" }, this.numbers, this.box);
    this.element.append(el("h2", {}, "TOML"), desk, this.problem);
    let timer = 0;
    this.box.addEventListener("input", () => {
      this.number();
      clearTimeout(timer);
      timer = setTimeout(() => void lab.load(this.box.value, this), 120);
    });
    this.box.addEventListener("scroll", () => {
      this.numbers.scrollTop = this.box.scrollTop;
    });
    lab.onDocument((by) => {
      if (by === this) return;
      this.box.value = lab.text;
      this.number();
    });
    lab.onResult(() => this.showFault());
  }

  private number(): void {
    const count = this.box.value.split("\n").length;
    this.box.rows = Math.min(30, Math.max(8, count + 1));
    if (this.numbers.childElementCount !== count) {
      const lines = Array.from({ length: count }, (_, index) => el("span", {}, String(index + 1)));
      this.numbers.replaceChildren(...lines);
    }
    this.showFault();
  }

  private showFault(): void {
    const { fault } = this.lab;
    this.problem.hidden = !fault;
    this.numbers.querySelector(".wrong")?.classList.remove("wrong");
    this.box.setAttribute("aria-invalid", String(fault !== null));
    if (!fault) return;
    this.problem.textContent =
      /^line \d+/.test(fault.message) || !fault.line ? fault.message : `line ${fault.line}: ${fault.message}`;
    if (fault.line) this.numbers.children[fault.line - 1]?.classList.add("wrong");
  }
}
