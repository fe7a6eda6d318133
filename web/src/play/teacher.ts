import { button, el, select } from "../dom";
import { filled } from "./ask";
import type { Lab, Result } from "./lab";
import { columnsOf, type Lesson, type Question, reached, setting } from "./lessons";
import { linkKey } from "./map";
import { Answers } from "./record";
import { get, keyOf } from "./toml";

/** Formats paragraphs with `code` and *emphasis*; strings become text nodes, never markup. */
function prose(text: string): HTMLElement[] {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => {
      const parts = paragraph.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((part) => {
        if (/^`.+`$/.test(part)) return el("code", {}, part.slice(1, -1));
        if (/^\*.+\*$/.test(part)) return el("em", {}, part.slice(1, -1));
        return part.replace(/\s+/g, " ");
      });
      return el("p", {}, ...parts);
    });
}

/** Guide through a lesson: its text, the keys to change, a question, and the verdict on the answer. */
export class Teacher {
  readonly element = el("section", { class: "lesson", "aria-label": "Step of the lesson", hidden: true });
  readonly chooser: HTMLSelectElement;
  lesson: Lesson | null = null;
  step = 0;
  /** Result of the step's own scenario, to which its text refers. */
  private own: Result | null = null;
  private verdict = el("div", { class: "verdict", role: "status" });
  private texts: [HTMLElement, () => HTMLElement[]][] = [];
  private loading = 0;
  private readonly answers = new Answers();

  constructor(
    private readonly lab: Lab,
    readonly lessons: Lesson[],
    private readonly moved: () => void,
  ) {
    const titles = ["Free play", ...lessons.map(({ title }, nth) => `${nth + 1}. ${title}`)];
    this.chooser = select("Lesson", titles, 0, (index) => {
      if (index) void this.open(lessons[index - 1]!.name, 0);
      else this.close();
    });
    lab.onResult(() => this.judge());
  }

  close(): void {
    this.lesson = null;
    this.answers.begin(null);
    this.element.hidden = true;
    this.chooser.selectedIndex = 0;
    this.lab.pin(null);
    this.moved();
  }

  /** Opens a step; `kept` leaves the scenario as it is, because a link brought its own. */
  async open(name: string, step: number, kept = false): Promise<void> {
    const lesson = this.lessons.find((one) => one.name === name);
    if (!lesson) return;
    const before = this.lesson === lesson ? setting(lesson, this.step, this.lab.catalogue) : null;
    this.lesson = lesson;
    this.answers.begin(lesson);
    this.step = Math.min(Math.max(0, step), lesson.steps.length - 1);
    this.chooser.selectedIndex = this.lessons.indexOf(lesson) + 1;
    this.own = null;
    this.show();
    this.moved();
    const nth = ++this.loading;
    const text = setting(lesson, this.step, this.lab.catalogue);
    if (kept) {
      this.own = await this.lab.tried(text);
    } else {
      const { pin } = lesson.steps[this.step]!;
      const other = pin ? await this.lab.tried(setting(lesson, this.step - 1, this.lab.catalogue)) : null;
      if (nth !== this.loading) return;
      if (pin || text !== before) this.lab.pinned = other;
      if (text !== this.lab.text) this.lab.choose({ kind: "scenario" });
      await this.lab.load(text);
      if (nth !== this.loading) return;
      this.own = this.lab.result?.text === text ? this.lab.result : null;
      this.point();
    }
    this.fill();
    this.judge();
  }

  /** Opens the controls of a key that the step lets its reader change. */
  private point(moved = this.lesson?.steps[this.step]?.move?.[0]): void {
    if (!moved) return;
    const key = keyOf(moved);
    if (key.length === 1) this.lab.choose({ kind: "scenario" });
    else if (key[0] === "flow") this.lab.choose({ kind: "flow", index: Number(key[1]) });
    else if (key[0] === "network") {
      const links = this.lab.result?.run.recording.header.links ?? [];
      const text = key.slice(0, -1).join(".");
      const link = links.find(({ name }) => {
        const own = linkKey(this.lab, name);
        return own && text.startsWith(own.join("."));
      });
      const own = link && linkKey(this.lab, link.name);
      if (own) this.lab.choose({ kind: "link", key: own, name: link.name });
    }
  }

  private words(text: string): HTMLElement {
    const made = el("div", { class: "prose" });
    this.texts.push([made, () => prose(filled(text, this.own?.tables, this.lab.pinned?.tables))]);
    made.append(...prose(filled(text, undefined)));
    return made;
  }

  private fill(): void {
    for (const [element, make] of this.texts) element.replaceChildren(...make());
  }

  private show(): void {
    const { lesson } = this;
    if (!lesson) return;
    const step = lesson.steps[this.step]!;
    this.texts = [];
    this.verdict = el("div", { class: "verdict", role: "status" });
    const heading = el("h2", { tabindex: -1 }, step.title);
    const parts: HTMLElement[] = [
      el("p", { class: "where" }, `${lesson.title} · ${this.step + 1} of ${lesson.steps.length}`),
      heading,
      this.words(step.text),
    ];
    if (step.observe) parts.push(el("p", { class: "observe" }, el("b", {}, "Look at "), step.observe));
    if (step.move) {
      const names = step.move.map((key) =>
        button(key, `Show the controls of ${key}`, () => this.point(key), "key-name"),
      );
      parts.push(el("p", { class: "move" }, el("b", {}, "Move "), ...names));
    }
    if (step.question) parts.push(this.question(step.question), this.verdict);
    const back = button("← Back", "Step before", () => void this.open(lesson.name, this.step - 1));
    const next = button("Next →", "Next step", () => void this.open(lesson.name, this.step + 1), "main");
    const again = button(
      "Restart step",
      "The step’s own setting again",
      () => void this.open(lesson.name, this.step),
    );
    back.disabled = this.step === 0;
    next.disabled = this.step === lesson.steps.length - 1;
    parts.push(el("div", { class: "acts" }, back, next, again, this.answers.element));
    this.element.replaceChildren(...parts);
    this.element.hidden = false;
    if (document.activeElement !== this.chooser) heading.focus({ preventScroll: true });
  }

  private question(question: Question): HTMLElement {
    if (question.kind === "choice") {
      const name = `answer-${this.lesson!.name}-${this.step}`;
      const options = question.options.map((text, nth) => {
        const box = el("input", { type: "radio", name, value: nth });
        box.addEventListener("change", () => {
          this.answers.note(this.step, text, nth === question.right);
          this.showVerdict(nth === question.right, question.why);
        });
        return el("label", {}, box, el("span", {}, text));
      });
      return el("fieldset", { class: "question" }, el("legend", {}, question.ask), ...options);
    }
    if (question.kind === "number") {
      const box = el("input", { type: "text", inputmode: "decimal", "aria-label": "Answer", class: "value" });
      const form = el(
        "form",
        { class: "question" },
        el("label", {}, `${question.ask} `, box, ` ${question.unit ?? ""}`),
        el("button", { type: "submit" }, "Check"),
      );
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const value = Number(box.value.replace(",", "."));
        if (box.value.trim() && Number.isFinite(value)) {
          const right = Math.abs(value - question.answer) <= question.tolerance;
          this.answers.note(this.step, String(value), right);
          this.showVerdict(right, question.why);
        }
      });
      return form;
    }
    return el("div", { class: "question goal" }, el("b", {}, "Your turn: "), question.ask);
  }

  private showVerdict(right: boolean, why: string): void {
    this.verdict.className = `verdict ${right ? "right" : "wrong"}`;
    const text = right
      ? filled(why, this.own?.tables, this.lab.pinned?.tables)
      : "Not yet: look once more, and try again.";
    this.verdict.replaceChildren(el("b", { class: "mark" }, right ? "✓ Right. " : "✗ "), ...prose(text));
  }

  /** Answer to a goal: the keys that the step lets its reader change, with their values, or else the whole text. */
  private moves(): string {
    const { lesson, lab } = this;
    const values = (lesson?.steps[this.step]?.move ?? []).map(
      (key) => `${key} = ${JSON.stringify(get(lab.doc ?? undefined, keyOf(key)) ?? null)}`,
    );
    return values.join(", ") || lab.text;
  }

  /** Columns of the table of flows that the step's question is about, so that the reader can see them. */
  get asked(): string[] {
    const question = this.lesson?.steps[this.step]?.question;
    return question ? columnsOf(question) : [];
  }

  /** Checks whether the page's current result reaches the step's goal. */
  private judge(): void {
    const question = this.lesson?.steps[this.step]?.question;
    if (question?.kind !== "goal" || !this.lab.result) return;
    if (reached(question, this.lab.result.tables, this.lab.pinned?.tables)) {
      this.answers.note(this.step, this.moves(), true);
      this.showVerdict(true, question.why);
    } else if (this.verdict.classList.contains("right")) this.verdict.className = "verdict past";
  }
}
