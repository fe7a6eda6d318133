/** Names of the page's texts; `python/vazao/words/` has them in each language. */
type Name =
  | "open"
  | "explore"
  | "mark"
  | "run"
  | "seed"
  | "some"
  | "start"
  | "stop"
  | "stopped"
  | "running"
  | "close"
  | "back"
  | "stored"
  | "now"
  | "goodput"
  | "events"
  | "same"
  | "other"
  | "differs"
  | "failed"
  | "command"
  | "guest"
  | "simulator"
  | "program"
  | "file"
  | "decimal";

export type Words = Record<Name, string>;

export const words = {} as Words;

/** Sets the page's texts. */
export function learn(texts: Words): void {
  Object.assign(words, texts);
}

/** Fills in the placeholders of a sentence, which are names in braces. */
export function say(name: Name, filled: Record<string, string | number>): string {
  return words[name].replace(/\{(\w+)\}/g, (whole, key: string) => String(filled[key] ?? whole));
}
