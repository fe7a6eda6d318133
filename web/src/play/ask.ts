/**
 * Expressions of lessons: `flows[0].goodput_bps / 1e6 > 4 and runs[0].jain > 0.9`. Names are columns of the result's
 * tables; after `pinned.`, of the pinned result's tables.
 */
import type { Tables } from "./engine";

const TOKEN =
  /\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?|pinned\b|and\b|or\b|not\b|[a-z_]\w*|<=|>=|==|[-+*/()<>[\].,])/gy;

function tokens(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const token = TOKEN.exec(text);
    if (!token) throw new Error(`cannot read ${text}`);
    found.push(token[1]!);
  }
  return found;
}

const CALLS: Record<string, (...values: number[]) => number> = {
  min: Math.min,
  max: Math.max,
  abs: Math.abs,
};

class Parser {
  private at = 0;
  constructor(
    private readonly list: string[],
    private readonly now: Tables | undefined,
    private readonly then: Tables | undefined,
  ) {}

  parse(): number {
    const value = this.disjunction();
    if (this.at < this.list.length) throw new Error(`does not belong there: ${this.list[this.at]}`);
    return value;
  }

  private accept(...words: string[]): string | null {
    const word = this.list[this.at];
    if (word === undefined || !words.includes(word)) return null;
    this.at += 1;
    return word;
  }

  private expect(word: string): void {
    if (!this.accept(word)) throw new Error(`${word} is missing`);
  }

  private disjunction(): number {
    let value = this.conjunction();
    while (this.accept("or")) value = Math.max(value, this.conjunction());
    return value;
  }

  private conjunction(): number {
    let value = this.comparison();
    while (this.accept("and")) value = Math.min(value, this.comparison());
    return value;
  }

  private comparison(): number {
    if (this.accept("not")) return this.comparison() ? 0 : 1;
    const left = this.sum();
    const how = this.accept("<", ">", "<=", ">=", "==");
    if (!how) return left;
    const right = this.sum();
    const holds = {
      "<": left < right,
      ">": left > right,
      "<=": left <= right,
      ">=": left >= right,
      "==": left === right,
    };
    return Number(holds[how as keyof typeof holds]);
  }

  private sum(): number {
    let value = this.product();
    for (let how = this.accept("+", "-"); how; how = this.accept("+", "-")) {
      const next = this.product();
      value = how === "+" ? value + next : value - next;
    }
    return value;
  }

  private product(): number {
    let value = this.atom();
    for (let how = this.accept("*", "/"); how; how = this.accept("*", "/")) {
      const next = this.atom();
      value = how === "*" ? value * next : value / next;
    }
    return value;
  }

  private atom(): number {
    if (this.accept("-")) return -this.atom();
    if (this.accept("(")) {
      const value = this.disjunction();
      this.expect(")");
      return value;
    }
    const word = this.list[this.at++] ?? "";
    if (/^\d/.test(word)) return Number(word);
    const call = CALLS[word];
    if (call && this.accept("(")) {
      const values = [this.disjunction()];
      while (this.accept(",")) values.push(this.disjunction());
      this.expect(")");
      return call(...values);
    }
    if (word === "pinned") {
      this.expect(".");
      return this.column(this.then, this.list[this.at++] ?? "");
    }
    return this.column(this.now, word);
  }

  private column(tables: Tables | undefined, table: string): number {
    this.expect("[");
    const row = Number(this.list[this.at++]);
    this.expect("]");
    this.expect(".");
    const column = this.list[this.at++] ?? "";
    const value = tables?.[table]?.[column]?.[row];
    return value === null || value === undefined ? Number.NaN : Number(value);
  }
}

export function ask(text: string, now: Tables | undefined, then?: Tables): number {
  return new Parser(tokens(text), now, then).parse();
}

/** Fills in the expressions of a text: `{flows[0].goodput_bps / 1e6:.2f}`. */
export function filled(text: string, now: Tables | undefined, then?: Tables): string {
  return text.replace(/\{([^{}]+?):\.(\d)f\}/g, (_, what, digits) => {
    const value = ask(what, now, then);
    return Number.isNaN(value) ? "…" : value.toFixed(Number(digits));
  });
}
