type Range = [number, number];

/** Smallest range that can be shown, as a fraction of the fitted one: a drawing has no more digits. */
const LEAST = 1e-6;

/** Vertical range of a panel: fitted to the visible data, until the reader chooses a part of it. */
export class Vertical {
  private fitted: Range = [0, 1];
  private chosen: Range | null = null;

  constructor(private readonly changed: () => void) {}

  get range(): Range {
    return this.chosen ?? this.fitted;
  }

  get isChosen(): boolean {
    return this.chosen !== null;
  }

  /** Sets the fitted range; a part that was chosen stays. */
  suits(fitted: Range): void {
    this.fitted = fitted;
  }

  /** Zooms by a factor about a fraction of the height, from the bottom; beyond the fitted range, the choice ends. */
  zoom(factor: number, share = 0.5): void {
    const [bottom, top] = this.range;
    const [least, most] = this.fitted;
    const span = Math.max((top - bottom) * factor, (most - least) * LEAST);
    const about = bottom + (top - bottom) * share;
    this.show(span < most - least ? [about - span * share, about + span * (1 - share)] : null);
  }

  /** Moves by a fraction of the visible range, if a part was chosen. */
  pan(share: number): void {
    if (!this.chosen) return;
    const [bottom, top] = this.chosen;
    const shift = (top - bottom) * share;
    this.show([bottom + shift, top + shift]);
  }

  /** Shows the part between two fractions of the height. */
  choose(one: number, other: number): void {
    const [bottom, top] = this.range;
    const at = (share: number) => bottom + (top - bottom) * Math.min(1, Math.max(0, share));
    const [low, high] = [at(Math.min(one, other)), at(Math.max(one, other))];
    if (high - low > (this.fitted[1] - this.fitted[0]) * LEAST) this.show([low, high]);
  }

  /** Shows the fitted range again. */
  fit(): void {
    this.show(null);
  }

  private show(chosen: Range | null): void {
    this.chosen = chosen;
    this.changed();
  }
}
