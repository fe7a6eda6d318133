import { parse as parseToml, TomlError } from "smol-toml";
import type { Fault } from "./engine";

export type Toml = string | number | boolean | Toml[] | { [key: string]: Toml };
export type Doc = { [key: string]: Toml };

export const isTable = (value: unknown): value is Doc =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses a document; errors have the form of the engine's. */
export function read(text: string): { doc: Doc } | { fault: Fault } {
  try {
    return { doc: parseToml(text) as Doc };
  } catch (error) {
    const problem = (error instanceof Error ? error.message : String(error)).split("\n")[0]!;
    const line = error instanceof TomlError ? error.line : null;
    return { fault: { line, problem, message: problem } };
  }
}

const name = (key: string) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));

function inline(value: Toml): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (isTable(value)) {
    const entries = Object.entries(value).map(([key, inner]) => `${name(key)} = ${inline(inner)}`);
    return entries.length ? `{ ${entries.join(", ")} }` : "{}";
  }
  return String(value);
}

/** Formats an entry; a long list of tables takes one line per table. */
function entry(key: string, value: Toml): string {
  const text = `${name(key)} = ${inline(value)}`;
  if (!Array.isArray(value) || text.length <= 90 || !value.every(isTable)) return text;
  return `${name(key)} = [\n${value.map((one) => `    ${inline(one)},\n`).join("")}]`;
}

/** Keys of the network that get a table of their own if they would make long lines. */
const OPEN = new Set(["link", "bottleneck", "access"]);

/** Formats a document as people write scenarios: a table for the network, one for each flow. */
export function write(doc: Doc): string {
  const parts: string[][] = [[]];
  const network: string[][] = [];
  for (const [key, value] of Object.entries(doc)) {
    if (key === "network" && isTable(value)) {
      const own = ["[network]"];
      for (const [inner, one] of Object.entries(value)) {
        if (OPEN.has(inner) && isTable(one) && inline(one).length > 50) {
          network.push([
            `[network.${inner}]`,
            ...Object.entries(one).map(([last, each]) => entry(last, each)),
          ]);
        } else own.push(entry(inner, one));
      }
      parts.push(own, ...network);
    } else if (key === "flow" && Array.isArray(value)) {
      for (const flow of value) {
        if (isTable(flow)) parts.push(["[[flow]]", ...Object.entries(flow).map(([k, v]) => entry(k, v))]);
      }
    } else parts[0]!.push(entry(key, value));
  }
  return `${parts
    .filter((lines) => lines.length)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}

export type Key = (string | number)[];

/** Parses a dotted key such as `flow.0.transport.cc`. */
export const keyOf = (text: string): Key =>
  text.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));

export function get(doc: Toml | undefined, key: Key): Toml | undefined {
  let at: Toml | undefined = doc;
  for (const part of key) {
    if (typeof part === "number") at = Array.isArray(at) ? at[part] : undefined;
    else if (isTable(at)) at = at[part];
    else return part === "kind" && typeof at === "string" ? at : undefined;
  }
  return at;
}

/** Tells what a document has under a key unless it names something else; `plain` is what a value without a name sets. */
export interface Usual {
  usual(key: string): { name: string; plain?: string | null } | undefined;
}

/** Expands a bare name or plain value, such as `"10 packets"` or `0.01`, to the table that it stands for. */
function opened(value: Toml | undefined, key: Key, catalogue: Usual): Doc {
  if (isTable(value)) return value;
  const last = String(key.at(-1));
  const usual = catalogue.usual(last);
  if (value === undefined) return usual ? { kind: usual.name } : {};
  if (usual?.plain && /^\d/.test(String(value))) return { kind: usual.name, [usual.plain]: value };
  return last === "trace" ? { measures: value } : { kind: value };
}

/** Sets a value, or deletes the key if undefined; values on the way are expanded to tables. */
export function set(doc: Doc, key: Key, value: Toml | undefined, catalogue: Usual): void {
  let at: Doc | Toml[] = doc;
  key.slice(0, -1).forEach((part, depth) => {
    const next = (at as Doc)[part as string];
    if (Array.isArray(next)) at = next;
    else {
      const made = opened(next, key.slice(0, depth + 1), catalogue);
      (at as Doc)[part as string] = made;
      at = made;
    }
  });
  const last = key.at(-1)! as string;
  if (value === undefined) delete (at as Doc)[last];
  else (at as Doc)[last] = value;
}

export const copy = <T extends Toml>(value: T): T => structuredClone(value);
