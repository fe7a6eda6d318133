import { el } from "../dom";
import { type Dimension, limitKind, parse, round, short, write } from "./units";

let count = 0;
const fresh = () => `control-${++count}`;

/** Scale of a slider from `least` to `most`, linear or logarithmic; with `zero`, 0 comes before `least`. */
export interface Scale {
  least: number;
  most: number;
  log: boolean;
  zero: boolean;
  /** Values are whole numbers. */
  whole?: boolean;
}

const STOPS = 400;

function valueAt(scale: Scale, stop: number): number {
  if (scale.zero && stop === 0) return 0;
  const share = scale.zero ? (stop - 1) / (STOPS - 1) : stop / STOPS;
  const { least, most } = scale;
  const value = scale.log ? least * (most / least) ** share : least + (most - least) * share;
  const kept = scale.log ? round(value, value < 10 * least && scale.whole ? 1 : 2) : round(value, 3);
  return scale.whole ? Math.max(Math.ceil(least), Math.round(kept)) : kept;
}

function stopOf(scale: Scale, value: number): number {
  const { least, most, zero } = scale;
  if (!(value > least)) return zero && value > 0 ? 1 : 0;
  const share = scale.log
    ? Math.log(value / least) / Math.log(most / least)
    : (value - least) / (most - least);
  return Math.round(Math.min(1, share) * (zero ? STOPS - 1 : STOPS)) + (zero ? 1 : 0);
}

export interface Field {
  label: string;
  help?: string;
  /** Value as in the TOML; undefined if it is not set. */
  value: unknown;
  /** Default that applies if it is not set, as a user would type it. */
  fallback: string;
  change(value: string | number | boolean | undefined): void;
}

function row(field: Field, id: string, ...inputs: HTMLElement[]): HTMLElement {
  const label = el("label", { for: id }, field.label);
  if (field.help) label.title = field.help;
  const made = el("div", { class: "field" }, label, ...inputs);
  const reset = el(
    "button",
    { type: "button", class: "reset", "aria-label": `${field.label}: default` },
    "×",
  );
  reset.title = field.fallback ? `Back to ${field.fallback}` : "Leave it out";
  reset.addEventListener("click", () => {
    made.classList.remove("set");
    field.change(undefined);
  });
  if (field.value !== undefined && field.help !== undefined) made.classList.add("set");
  made.append(reset);
  return made;
}

/** Slider with a text field beside it. Each updates the other, and `field.change` gets the value for the TOML. */
function pair(
  field: Field,
  scale: Scale,
  shown: string,
  value: number | null,
  formatted: (value: number) => string,
  understand: (text: string) => string | number | null,
): HTMLElement {
  const id = fresh();
  const slider = el("input", { type: "range", min: 0, max: STOPS, step: 1, "aria-label": field.label });
  const box = el("input", {
    type: "text",
    id,
    value: shown,
    class: "value",
    spellcheck: "false",
    autocomplete: "off",
  });
  slider.value = String(value === null ? 0 : stopOf(scale, value));
  slider.setAttribute("aria-valuetext", shown || field.fallback);
  const made = row(field, id, slider, box);
  const put = (entered: string | number) => {
    if (field.help !== undefined) made.classList.add("set");
    field.change(entered);
  };
  slider.addEventListener("input", () => {
    const text = formatted(valueAt(scale, Number(slider.value)));
    box.value = text;
    box.classList.remove("wrong");
    slider.setAttribute("aria-valuetext", text);
    put(understand(text)!);
  });
  box.addEventListener("change", () => {
    const entered = understand(box.value.trim());
    box.classList.toggle("wrong", entered === null);
    if (entered === null) return;
    const number = typeof entered === "number" ? entered : numberIn(entered);
    if (number !== null) slider.value = String(stopOf(scale, number));
    put(entered);
  });
  return made;
}

function numberIn(text: string): number | null {
  for (const dimension of ["rate", "duration", "size", "limit"] as Dimension[]) {
    const found = parse(text, dimension);
    if (found) return found.value;
  }
  return null;
}

export function number(field: Field, scale: Scale): HTMLElement {
  const held = field.value ?? field.fallback;
  const value = held === "" || held === undefined ? null : Number(held);
  const understand = (text: string) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : null);
  return pair(field, scale, held === undefined ? "" : String(held), value, short, understand);
}

export function quantity(field: Field, dimension: Dimension, scale: Scale): HTMLElement {
  const shown = String(field.value ?? field.fallback ?? "");
  const held = parse(shown, dimension);
  const understand = (text: string) => (parse(text, dimension) || text === "auto" ? text : null);
  return pair(field, scale, shown, held?.value ?? null, (value) => write(value, dimension), understand);
}

const LIMITS: Record<string, Scale> = {
  packets: { least: 1, most: 10_000, log: true, zero: false, whole: true },
  bdp: { least: 0.05, most: 20, log: true, zero: false },
  size: { least: 1500, most: 2e7, log: true, zero: false },
  duration: { least: 1e-3, most: 3, log: true, zero: false },
};

/** Control for a queue limit in packets, bytes, time or bandwidth-delay products. */
export function limit(field: Field): HTMLElement {
  const shown = String(field.value ?? field.fallback);
  const held = parse(shown, "limit");
  const unit = held?.unit ?? "packets";
  const understand = (text: string) => (parse(text, "limit") ? text : null);
  const formatted = (value: number) => write(value, "limit", unit);
  return pair(field, LIMITS[limitKind(unit)]!, shown, held?.value ?? null, formatted, understand);
}

export interface Option {
  name: string;
  title?: string;
  help?: string;
}

/** Drop-down list of names, with the explanation of the chosen one below. */
export function choice(field: Field, options: Option[]): HTMLElement {
  const id = fresh();
  const box = el("select", { id });
  const held = String(field.value ?? "");
  const known = options.some(({ name }) => name === held);
  if (field.fallback !== "" || !known) {
    const named = options.find(({ name }) => name === field.fallback);
    const fallback = field.fallback ? `${named?.title ?? field.fallback} (default)` : "–";
    box.append(el("option", { value: "", selected: !known }, fallback));
  }
  for (const { name, title } of options) {
    const text = title && title.toLowerCase() !== name ? `${title} · ${name}` : name;
    box.append(el("option", { value: name, selected: name === held }, text));
  }
  const help = el("p", { class: "help-line" });
  const explain = () => {
    const name = box.value || field.fallback;
    help.textContent = options.find((option) => option.name === name)?.help ?? "";
  };
  box.addEventListener("change", () => {
    explain();
    field.change(box.value || undefined);
  });
  explain();
  const made = el(
    "div",
    { class: "field choice" },
    el("label", { for: id, title: field.help ?? "" }, field.label),
    box,
  );
  return options.some((option) => option.help) ? el("div", {}, made, help) : made;
}

export function flag(field: Field): HTMLElement {
  const id = fresh();
  const held = field.value === undefined ? field.fallback === "true" : field.value === true;
  const box = el("input", { type: "checkbox", id, checked: held });
  box.addEventListener("change", () => field.change(box.checked));
  return el(
    "div",
    { class: "field flag" },
    el("label", { for: id, title: field.help ?? "" }, field.label),
    box,
  );
}

export function words(field: Field): HTMLElement {
  const id = fresh();
  const box = el("input", {
    type: "text",
    id,
    placeholder: field.fallback,
    value: String(field.value ?? ""),
  });
  box.addEventListener("change", () => field.change(box.value === "" ? undefined : box.value));
  return el(
    "div",
    { class: "field words" },
    el("label", { for: id, title: field.help ?? "" }, field.label),
    box,
  );
}

/** Read-only field for a value that no control here can edit. */
export function fixed(label: string, text: string): HTMLElement {
  return el("div", { class: "field fixed" }, el("span", {}, label), el("code", {}, text));
}
