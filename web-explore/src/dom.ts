/** Elements made by hand: a text is always text, whatever a study calls its things. */

type Child = Node | string | null | undefined | false;
type Given = Record<string, string | number | boolean | EventListener | undefined>;

/** An element with attributes, listeners (`onclick`) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, given: Given = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((one): one is Node | string => one !== null && one !== undefined && one !== false));
  return made;
}

/** A list to choose from, with what it is for. */
export function choice(
  label: string, options: readonly (readonly [string, string])[], chosen: string, changed: (value: string) => void,
): HTMLLabelElement {
  const select = el("select", { onchange: () => changed(select.value) });
  for (const [value, text] of options) select.append(el("option", { value, selected: value === chosen }, text));
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** A box to tick. */
export function tick(label: string, on: boolean, changed: (on: boolean) => void): HTMLLabelElement {
  const box = el("input", { type: "checkbox", checked: on, onchange: () => changed(box.checked) });
  return el("label", { class: "tick" }, box, label);
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, given: Record<string, string | number> = {}): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, String(value));
  return made;
}
