import { button, el } from "../dom";
import { duration } from "../format";
import type { Model } from "./model";

/** Animation that moves the cursor through the run at a chosen speed. */
export class Player {
  readonly element: HTMLElement;
  private readonly toggleButton: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly speedText = el("output", { class: "speed" });
  private playing = false;
  private last = 0;

  constructor(private readonly model: Model) {
    this.toggleButton = button("▶", "Play (space)", () => this.toggle(), "play");
    this.slider = el("input", {
      type: "range",
      min: -6,
      max: 1,
      step: 0.05,
      "aria-label": "Speed of the animation",
    });
    // At the initial speed, the longest transit takes about three seconds.
    const speed = Math.log10(Math.max(1e-6, model.runs[0]!.journeys.longest / 1e9 / 3));
    this.slider.value = String(Math.min(1, Math.max(-6, speed)));
    this.slider.addEventListener("input", () => this.showSpeed());
    this.element = el("div", { class: "player", role: "group", "aria-label": "Animation" });
    this.element.append(this.toggleButton, this.slider, this.speedText);
    this.showSpeed();
  }

  toggle(): void {
    this.playing = !this.playing;
    const { axis } = this.model;
    if (this.playing) {
      if (axis.cursor < axis.lo || axis.cursor >= axis.hi) axis.pointAt(axis.lo);
      this.last = performance.now();
      requestAnimationFrame((now) => this.tick(now));
    }
    this.toggleButton.textContent = this.playing ? "❚❚" : "▶";
    const label = this.playing ? "Pause (space)" : "Play (space)";
    this.toggleButton.setAttribute("aria-label", label);
    this.toggleButton.title = label;
  }

  /** Nanoseconds of the run per second of real time. */
  private get speed(): number {
    return 1e9 * 10 ** Number(this.slider.value);
  }

  private showSpeed(): void {
    this.speedText.textContent = `${duration(Number(this.speed.toPrecision(2)))}/s`;
  }

  private tick(now: number): void {
    if (!this.playing) return;
    const { axis } = this.model;
    const next = axis.cursor + (this.speed * Math.max(0, now - this.last)) / 1000;
    this.last = now;
    axis.pointAt(next);
    // The view turns the page when the cursor leaves it.
    if (next > axis.hi && axis.hi < axis.end) axis.pan(0.9);
    if (next >= axis.end) this.toggle();
    else requestAnimationFrame((time) => this.tick(time));
  }
}
