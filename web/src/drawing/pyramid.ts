const FACTOR = 8;

/**
 * Least and greatest value of any range of elements, in time logarithmic in its length: each level holds the extremes
 * of eight elements of the level below. NaN is ignored.
 */
export class Pyramid {
  /** Result of the latest `range`: fields rather than an object, so that a frame allocates nothing. */
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;

  private readonly low: ArrayLike<number>[];
  private readonly high: ArrayLike<number>[];

  /** `low` and `high` are the same array for points, and the ends of each bar for bars. */
  constructor(low: Float64Array, high: Float64Array = low) {
    this.low = [low];
    this.high = [high];
    for (let length = low.length; length > FACTOR; ) {
      length = Math.ceil(length / FACTOR);
      this.low.push(reduce(this.low.at(-1)!, length, false));
      this.high.push(reduce(this.high.at(-1)!, length, true));
    }
  }

  get length(): number {
    return this.low[0]!.length;
  }

  /** Finds the extremes of elements `from` to `to` (exclusive); returns whether there are any. */
  range(from: number, to: number): boolean {
    this.min = Number.POSITIVE_INFINITY;
    this.max = Number.NEGATIVE_INFINITY;
    let start = from;
    let end = to;
    for (let level = 0; start < end; level++) {
      if (level === this.low.length - 1 || end - start <= 2 * FACTOR) {
        this.scan(level, start, end);
        break;
      }
      const inner = Math.ceil(start / FACTOR);
      const outer = Math.floor(end / FACTOR);
      this.scan(level, start, inner * FACTOR);
      this.scan(level, outer * FACTOR, end);
      start = inner;
      end = outer;
    }
    return this.min <= this.max;
  }

  private scan(level: number, from: number, to: number): void {
    const low = this.low[level]!;
    const high = this.high[level]!;
    for (let index = from; index < to; index++) {
      if (low[index]! < this.min) this.min = low[index]!;
      if (high[index]! > this.max) this.max = high[index]!;
    }
  }
}

function reduce(below: ArrayLike<number>, length: number, greatest: boolean): Float64Array {
  const level = new Float64Array(length);
  for (let index = 0, read = 0; index < length; index++) {
    const end = Math.min(read + FACTOR, below.length);
    let extreme = greatest ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    for (; read < end; read++) {
      const value = below[read]!;
      if (greatest ? value > extreme : value < extreme) extreme = value;
    }
    level[index] = extreme;
  }
  return level;
}
