type Listener = () => void;

/** Shortest visible span in nanoseconds: a packet's own time is not finer. */
const SHORTEST = 200;

/**
 * The time axis that all panels share: the visible range, and the time under the cursor. Listeners are called once per
 * frame, however many events came since the last.
 */
export class TimeAxis {
  lo: number;
  hi: number;
  cursor: number;
  private readonly moved: Listener[] = [];
  private readonly pointed: Listener[] = [];
  private range = false;
  private point = false;
  private frame = 0;

  constructor(
    readonly start: number,
    public end: number,
  ) {
    this.lo = start;
    this.hi = end;
    this.cursor = start;
  }

  get span(): number {
    return this.hi - this.lo;
  }

  /** `listener` is called when another part of the run must be drawn. */
  onMove(listener: Listener): void {
    this.moved.push(listener);
  }

  /** `listener` is called when the cursor or the visible range has changed. */
  onPoint(listener: Listener): void {
    this.pointed.push(listener);
  }

  show(lo: number, hi: number): void {
    const whole = this.end - this.start;
    const span = Math.min(Math.max(hi - lo, SHORTEST), whole);
    const middle = (lo + hi) / 2;
    this.lo = Math.min(Math.max(hi - lo < SHORTEST ? middle - span / 2 : lo, this.start), this.end - span);
    this.hi = this.lo + span;
    this.changed();
  }

  /** Sets another end, and shows the whole run again. */
  stretch(end: number): void {
    this.end = end;
    this.all();
  }

  /** Redraws everything, with the visible range unchanged. */
  changed(): void {
    this.range = true;
    this.schedule();
  }

  all(): void {
    this.show(this.start, this.end);
  }

  /** Zooms by a factor about a time, which keeps its place. */
  zoom(factor: number, about = (this.lo + this.hi) / 2): void {
    const span = Math.max(this.span * factor, SHORTEST);
    const share = (about - this.lo) / this.span;
    this.show(about - span * share, about + span * (1 - share));
  }

  /** Moves by a fraction of the visible range. */
  pan(share: number): void {
    const shift = this.span * share;
    this.show(this.lo + shift, this.hi + shift);
  }

  /** Brings a time into view, in a range that is at most `span` wide. */
  reveal(moment: number, span = this.span): void {
    const width = Math.min(span, this.span);
    if (moment < this.lo + width * 0.05 || moment > this.hi - width * 0.05 || width < this.span) {
      this.show(moment - width / 2, moment + width / 2);
    }
  }

  pointAt(moment: number): void {
    this.cursor = Math.min(Math.max(moment, this.start), this.end);
    this.point = true;
    this.schedule();
  }

  private schedule(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const { range, point } = this;
      this.range = this.point = false;
      if (range) for (const listener of this.moved) listener();
      if (range || point) for (const listener of this.pointed) listener();
    });
  }
}
