/** Lessons as their TOML files say them (docs/play.md). */
import { ask } from "./ask";
import type { Tables } from "./engine";
import { get, keyOf, read, set, type Toml, write } from "./toml";

export interface Choice {
  kind: "choice";
  ask: string;
  options: string[];
  right: number;
  /** A condition for each option, of which only that of the right one holds; what a test asks of the engine. */
  where?: string[];
  why: string;
}
export interface Numeric {
  kind: "number";
  ask: string;
  /** How a result says the answer; what a test asks of the engine. */
  of?: string;
  answer: number;
  tolerance: number;
  unit?: string;
  why: string;
}
export interface Goal {
  kind: "goal";
  ask: string;
  until: string;
  /** Changes with which it is reached; what a test tries. */
  solution?: Record<string, Toml>;
  why: string;
}
export type Question = Choice | Numeric | Goal;

export interface Step {
  title: string;
  text: string;
  scenario?: string;
  set?: Record<string, Toml>;
  pin?: boolean;
  move?: string[];
  observe?: string;
  question?: Question;
}

export interface Lesson {
  name: string;
  title: string;
  about: string;
  steps: Step[];
}

/** Setting of a step: the last scenario before it, with what each step since then sets. */
export function setting(lesson: Lesson, step: number): string {
  let text = "";
  for (const { scenario, set: changes } of lesson.steps.slice(0, step + 1)) {
    if (scenario) text = scenario;
    if (!changes) continue;
    const found = read(text);
    if (!("doc" in found)) return text;
    for (const [key, value] of Object.entries(changes)) set(found.doc, keyOf(key), value);
    text = write(found.doc);
  }
  return text;
}

/** Whether a key that a step lets its reader move is in a document or may be put there. */
export function present(text: string, key: string): boolean {
  const found = read(text);
  return "doc" in found && get(found.doc, keyOf(key).slice(0, -1)) !== undefined;
}

export function reached(goal: Goal, now: Tables | undefined, then: Tables | undefined): boolean {
  try {
    return ask(goal.until, now, then) === 1;
  } catch {
    return false;
  }
}

/** Columns of the table of flows that a question's answer follows from. */
export function columnsOf(question: Question): string[] {
  const of = {
    choice: () => ("where" in question ? (question.where ?? []) : []),
    number: () => ("of" in question && question.of ? [question.of] : []),
    goal: () => ("until" in question ? [question.until] : []),
  }[question.kind]();
  const names = of.flatMap((one) =>
    [...one.matchAll(/\bflows\[\d+\]\.([a-z_]\w*)/g)].map(([, name]) => name!),
  );
  return [...new Set(names)];
}
