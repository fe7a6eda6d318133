import { type Doc, get, type Toml } from "./toml";

/** Catalogue of what a scenario can name, from the engine's registries; the page embeds a copy. */

export interface Parameter {
  name: string;
  default: string;
  expected: string;
  help: string;
  /** Value to begin with where there is no default. */
  example: Toml | null;
}

/** Key under which a topology's links are given. */
export interface LinkKey {
  key: string;
  /** Word for one of its links. */
  noun: string;
  count: "one" | "many" | "each" | "named";
  /** Parameter that says how many links there may be; only with the count `each`. */
  each: string | null;
}

export interface Entry {
  name: string;
  aliases: string[];
  title: string;
  help: string;
  source: string;
  parameters: Parameter[];
  /** Whether it is what a scenario that names none has. */
  usual?: boolean;
  /** Parameter that a value without a kind stands for. */
  plain?: string | null;
  /** Parameters that are shown first; the others are folded away. */
  first?: string[];
  /** Parameters that the page does not offer. */
  hidden?: string[];
  /** Whether datagrams are never sent again: no series records what was delivered, so that packets must. */
  datagrams?: boolean;
  /** Whether it runs programs of the host, which a page does not have. */
  host?: boolean;
  /** Keys of a topology's links. */
  links?: LinkKey[];
}

export interface Preset {
  name: string;
  title: string;
  text: string;
}

export interface Content {
  kinds: Record<string, Entry[]>;
  presets: Preset[];
  lessons: import("./lessons").Lesson[];
  scenario: string;
  file: string;
  lesson: string;
}

export function content(): Content {
  return JSON.parse(document.querySelector("script[data-content]")!.textContent!) as Content;
}

export class Catalogue {
  constructor(private readonly kinds: Record<string, Entry[]>) {}

  entries(kind: string): Entry[] {
    return this.kinds[kind] ?? [];
  }

  /** Entry that a scenario has under a key such as `queue` unless it names another. */
  usual(key: string): Entry | undefined {
    const kind = Object.keys(this.kinds).find((kind) => kind.split(" ")[0] === key);
    return kind === undefined ? undefined : this.entries(kind).find((entry) => entry.usual);
  }

  /** Keys of the links of a document's network. */
  links(doc: Doc | null): LinkKey[] {
    return this.find("topology", get(doc ?? undefined, ["network", "topology"]))?.links ?? [];
  }

  find(kind: string, name: unknown): Entry | undefined {
    return this.entries(kind).find((entry) => entry.name === name || entry.aliases.includes(String(name)));
  }
}

/** Table of a newly chosen entry: its kind, and examples for what has no default. */
export function begun({ name, parameters }: Entry): Doc {
  const examples = parameters.flatMap(({ name, example }) =>
    example === null ? [] : [[name, example] as const],
  );
  return { kind: name, ...Object.fromEntries(examples) };
}
