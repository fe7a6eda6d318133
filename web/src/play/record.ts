import { button, el, save } from "../dom";
import type { Lesson } from "./lessons";

/** An answer to a question of a lesson, with the number of the attempt. */
export interface Answer {
  /** Number of the step, from 1. */
  step: number;
  title: string;
  question: string;
  answer: string;
  right: boolean;
  attempt: number;
  /** Time of the answer in ISO 8601. */
  at: string;
}

const COLUMNS = ["name", "lesson", "step", "title", "question", "answer", "right", "attempt", "at"] as const;

/** CSV cell (RFC 4180). What a spreadsheet would take for a formula gets an apostrophe in front, its mark for text. */
export function cell(value: unknown): string {
  const text = String(value);
  const harmless = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Record of the reader's answers in a lesson, which a lecturer can collect as files. Nothing is sent anywhere. */
export class Answers {
  readonly given: Answer[] = [];
  readonly element = button("Answers", "Save the answers to this lesson as a file", () => this.show());
  private readonly dialog = el("dialog", { class: "share", "aria-label": "Answers" });
  private name = "";
  private lesson: Lesson | null = null;

  /** Starts a new record for another lesson. */
  begin(lesson: Lesson | null): void {
    if (lesson === this.lesson) return;
    this.lesson = lesson;
    this.given.length = 0;
    this.count();
  }

  /** Records an answer; the same one twice in a row counts once. */
  note(step: number, answer: string, right: boolean, now = new Date()): void {
    const current = this.lesson?.steps[step];
    if (!current?.question) return;
    const before = this.given.filter((one) => one.step === step + 1);
    if (before.at(-1)?.answer === answer) return;
    this.given.push({
      step: step + 1,
      title: current.title,
      question: current.question.ask,
      answer,
      right,
      attempt: before.length + 1,
      at: now.toISOString(),
    });
    this.count();
  }

  json(): string {
    const { name, lesson, given } = this;
    return `${JSON.stringify({ name, lesson: lesson?.name ?? "", title: lesson?.title ?? "", answers: given }, null, 2)}\n`;
  }

  csv(): string {
    const rows = this.given.map((one) => ({ ...one, name: this.name, lesson: this.lesson?.name ?? "" }));
    const lines = rows.map((row) => COLUMNS.map((column) => cell(row[column])).join(","));
    return [COLUMNS.join(","), ...lines, ""].join("\r\n");
  }

  private count(): void {
    this.element.disabled = this.given.length === 0;
    this.element.textContent = this.given.length ? `Answers (${this.given.length})` : "Answers";
  }

  private show(): void {
    const box = el("input", { type: "text", autocomplete: "name", class: "value name", value: this.name });
    box.addEventListener("input", () => {
      this.name = box.value.trim();
    });
    const file = () =>
      [this.lesson?.name.replace(/\.toml$/, ""), this.name]
        .filter(Boolean)
        .join("-")
        .replace(/[^\p{L}\p{N}.-]+/gu, "-");
    const keep = (ending: string, type: string, text: () => string) =>
      button(`Save as ${ending.toUpperCase()}`, `Save the answers as ${ending.toUpperCase()}`, () =>
        save(new Blob([text()], { type }), `${file()}.${ending}`),
      );
    const rows = this.given.map((one) =>
      el(
        "tr",
        {},
        el("td", {}, String(one.step)),
        el("td", {}, one.answer),
        el("td", {}, one.right ? "✓ right" : "✗ not yet"),
      ),
    );
    this.dialog.replaceChildren(
      el("h2", {}, "Answers"),
      el("p", {}, "A file for whoever asked for it. Nothing leaves this page by itself."),
      el("label", {}, "Your name ", box),
      el("div", { class: "wide" }, el("table", { class: "given" }, el("tbody", {}, ...rows))),
      el(
        "div",
        { class: "acts" },
        keep("csv", "text/csv", () => this.csv()),
        keep("json", "application/json", () => this.json()),
        el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close")),
      ),
    );
    if (!this.dialog.isConnected) this.element.after(this.dialog);
    this.dialog.showModal();
  }
}
