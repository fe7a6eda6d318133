import type { Entry, LinkKey, Parameter } from "../contract";
import { type Doc, get } from "./toml";

/** Catalogue of what a scenario can name, from the engine's registries; the page embeds a copy. */

export type { Entry, LinkKey, Parameter };

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
