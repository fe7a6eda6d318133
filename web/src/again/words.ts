/** Words of the page in its language (`python/vazao/words/`), by name. */
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

/** Takes the words that the page has. */
export function learn(told: Words): void {
  Object.assign(words, told);
}

/** A sentence with what stands in its braces. */
export function say(name: Name, filled: Record<string, string | number>): string {
  return words[name].replace(/\{(\w+)\}/g, (whole, key: string) => String(filled[key] ?? whole));
}
