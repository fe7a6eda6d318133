type Attributes = Record<string, string | number | boolean | EventListener | undefined>;
type Child = Node | string | null | undefined | false;

/**
 * Creates an element with attributes, listeners (`onclick`) and children. String children become text nodes: texts of a
 * recording or a study are never markup.
 */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child): child is Node | string => child instanceof Node || !!child));
  return made;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

export function button(text: string, label: string, action: () => void, kind = ""): HTMLButtonElement {
  return el(
    "button",
    { type: "button", "aria-label": label, title: label, class: kind, onclick: action },
    text,
  );
}

/** Button that copies a text and shows `done` for a moment. */
export function copier(name: string, done: string, text: () => string, kind = ""): HTMLButtonElement {
  const made = el(
    "button",
    {
      type: "button",
      class: kind,
      onclick: () => {
        void navigator.clipboard.writeText(text()).then(() => {
          made.textContent = done;
          setTimeout(() => {
            made.textContent = name;
          }, 1200);
        });
      },
    },
    name,
  );
  return made;
}

export function select(
  label: string,
  options: string[],
  chosen: number,
  action: (index: number) => void,
): HTMLSelectElement {
  const made = el("select", { "aria-label": label, title: label });
  options.forEach((text, index) => {
    made.append(el("option", { value: index, selected: index === chosen }, text));
  });
  made.addEventListener("change", () => action(made.selectedIndex));
  return made;
}

/** Drop-down list with a label. */
export function choice(
  label: string,
  options: readonly (readonly [string, string])[],
  chosen: string,
  changed: (value: string) => void,
): HTMLLabelElement {
  const title = options.find(([value]) => value === chosen)?.[1];
  const made = el("select", { title, onchange: () => changed(made.value) });
  for (const [value, text] of options) made.append(el("option", { value, selected: value === chosen }, text));
  return el("label", { class: "choice" }, el("span", {}, label), made);
}

/** Checkbox with a label. */
export function tick(label: string, on: boolean, changed: (on: boolean) => void): HTMLLabelElement {
  const box = el("input", { type: "checkbox", checked: on, onchange: () => changed(box.checked) });
  return el("label", { class: "tick" }, box, label);
}

export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
