type Attributes = Record<string, string | number | boolean | undefined>;

/**
 * Makes an element. Children that are strings become text nodes: what a recording says is never markup.
 */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

export function button(text: string, label: string, action: () => void, kind = ""): HTMLButtonElement {
  const made = el("button", { type: "button", "aria-label": label, title: label, class: kind }, text);
  made.addEventListener("click", action);
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

export function save(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
