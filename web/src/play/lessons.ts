/** Lessons, as their TOML files define them (docs/play.md). */
import { ask } from "./ask";
import type { Tables } from "./engine";
import { get, keyOf, read, set, type Toml, type Usual, write } from "./toml";

export interface Choice {
  kind: "choice";
  ask: string;
  options: string[];
  right: number;
  /** A condition for each option, of which only the right option's holds; a test checks it with the engine. */
  where?: string[];
  why: string;
}
export interface Numeric {
  kind: "number";
  ask: string;
  /** Expression that gives the answer from a result; a test checks it with the engine. */
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
  /** Changes that reach the goal; a test tries them. */
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

/** Scenario of a step: the latest one given up to it, with the changes of each step since. */
export function setting(lesson: Lesson, step: number, catalogue: Usual): string {
  let text = "";
  for (const { scenario, set: changes } of lesson.steps.slice(0, step + 1)) {
    if (scenario) text = scenario;
    if (!changes) continue;
    const found = read(text);
    if (!("doc" in found)) return text;
    for (const [key, value] of Object.entries(changes)) set(found.doc, keyOf(key), value, catalogue);
    text = write(found.doc);
  }
  return text;
}

/** Whether a key that a step lets its reader change is in a document or can be added. */
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

/** Columns of the table of flows that a question's answer depends on. */
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
