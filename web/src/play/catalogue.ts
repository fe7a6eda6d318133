/** Catalogue of what a scenario can name, from the engine's registries; the page embeds a copy. */

export interface Parameter {
  name: string;
  default: string;
  expected: string;
  help: string;
}

export interface Entry {
  name: string;
  aliases: string[];
  title: string;
  help: string;
  source: string;
  parameters: Parameter[];
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

  find(kind: string, name: unknown): Entry | undefined {
    return this.entries(kind).find((entry) => entry.name === name || entry.aliases.includes(String(name)));
  }
}
