import { el } from "../dom";
import { type Answer, compiled, Engine } from "../play/engine";
import { type Content, explored, kept, markOf, requestOf, runOf } from "./content";
import { Shown } from "./shown";
import { say, words } from "./words";

/** Dialog for choosing a mark and one of its runs, and running it. */
export class Chooser {
  private figure = "";
  private engine: Promise<Engine> | null = null;
  private ticking = 0;
  private readonly title = el("h2", { id: "again-title" });
  private readonly marks = el("select", {
    id: "again-marks",
    onchange: () => this.choose(this.marks.selectedIndex),
  });
  private readonly runs = el("select", { id: "again-runs", onchange: () => this.showNeeds() });
  private readonly some = el("p", { class: "note" });
  private readonly needs = el("div", { class: "again-needs" });
  private readonly go = el("button", { type: "button", class: "again-go" }, words.start);
  private readonly halt = el("button", { type: "button", hidden: true }, words.stop);
  private readonly explore = el("a", { target: "_blank", class: "again-explore" }, words.explore);
  private readonly status = el("p", { role: "status", class: "note" });
  private readonly dialog: HTMLDialogElement;
  private readonly shown = new Shown();

  constructor(private readonly content: Content) {
    this.go.addEventListener("click", () => void this.run());
    this.halt.addEventListener("click", () => void this.stop());
    const close = el("button", { type: "button", onclick: () => this.dialog.close() }, words.close);
    this.dialog = el(
      "dialog",
      { class: "again", "aria-labelledby": "again-title" },
      this.title,
      el("label", { for: "again-marks" }, words.mark, this.marks),
      el("label", { for: "again-runs" }, words.run, this.runs),
      this.some,
      this.needs,
      this.status,
      el("p", { class: "again-buttons" }, this.go, this.halt, content.explorer !== "" && this.explore, close),
    );
    this.dialog.addEventListener("close", () => void this.stop());
    document.body.append(this.dialog);
  }

  /** Opens the dialog on the mark that a datum of a figure's chart belongs to, if that mark has runs. */
  click(figure: string, datum: Record<string, unknown>): void {
    const mark = markOf(this.content.figures[figure]!, datum);
    if (mark >= 0) this.open(figure, mark);
  }

  open(figure: string, mark: number): void {
    this.figure = figure;
    const { marks } = this.content.figures[figure]!;
    this.title.textContent = document.getElementById(`title-${figure}`)?.textContent ?? figure;
    this.marks.replaceChildren(...marks.map(([, text]) => el("option", {}, text)));
    this.marks.selectedIndex = mark;
    this.choose(mark);
    this.dialog.showModal();
    this.runs.focus();
  }

  private get places(): number[] {
    return this.content.figures[this.figure]!.marks[this.marks.selectedIndex]![2];
  }

  private get place(): number {
    return this.places[this.runs.selectedIndex]!;
  }

  private choose(mark: number): void {
    const [, , places, all] = this.content.figures[this.figure]!.marks[mark]!;
    const options = places.map((place) => {
      const { levels, seed } = runOf(this.content, place);
      return el("option", {}, say("seed", { levels, seed }));
    });
    this.explore.href = explored(this.content, places);
    this.runs.replaceChildren(...options);
    this.runs.selectedIndex = 0;
    this.some.textContent = all > places.length ? say("some", { some: places.length, all }) : "";
    this.showNeeds();
  }

  /** Shows what keeps the chosen run from running in the page, if anything, and the command that runs it. */
  private showNeeds(): void {
    const { needs } = runOf(this.content, this.place);
    this.status.textContent = "";
    this.go.disabled = needs !== "";
    this.needs.replaceChildren(...(needs ? [el("p", {}, words[needs]), ...this.command()] : []));
  }

  private command(): HTMLElement[] {
    const { id } = runOf(this.content, this.place);
    const line = el("pre", { tabindex: 0 }, el("code", {}, this.content.command + id));
    return [el("p", {}, words.command), line];
  }

  private async run(): Promise<void> {
    const { content, place } = this;
    this.busy(true);
    try {
      this.engine ??= compiled().then((module) => new Engine(module));
      const answer = await (await this.engine).ask(requestOf(content, place));
      if (answer) await this.answered(answer, place);
      else this.status.textContent = words.stopped;
    } catch (error) {
      this.failed(error instanceof Error ? error.message : String(error));
    } finally {
      this.busy(false);
    }
  }

  private async answered(answer: Answer, place: number): Promise<void> {
    if (!answer.tables) {
      this.failed(answer.error?.message ?? "");
      return;
    }
    this.status.textContent = "";
    await this.shown.open(await kept("viewer"), answer, runOf(this.content, place), this.content.engine);
  }

  private failed(problem: string): void {
    this.status.textContent = say("failed", { problem });
    this.needs.replaceChildren(...this.command());
  }

  private async stop(): Promise<void> {
    if (this.ticking) (await this.engine)?.stop();
  }

  private busy(busy: boolean): void {
    clearInterval(this.ticking);
    this.ticking = 0;
    this.halt.hidden = !busy;
    for (const control of [this.go, this.marks, this.runs]) control.disabled = busy;
    if (!busy) return;
    const since = performance.now();
    const showElapsed = () => {
      const seconds = Math.round((performance.now() - since) / 1000);
      this.status.textContent = say("running", { seconds });
    };
    showElapsed();
    this.ticking = window.setInterval(showElapsed, 1000);
  }
}
