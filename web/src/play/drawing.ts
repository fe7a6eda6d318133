import { button, el } from "../dom";
import { quantity } from "../format";
import { added, asDrawing, flowed, isDrawn, joined, nodes, removed, renamed } from "./drawn";
import type { Lab } from "./lab";
import { linkKey } from "./map";
import { get, isTable } from "./toml";

const NAME = /^[A-Za-z0-9_-]+$/;

/** Buttons below the map, which turn a network into a drawing, add nodes to it, and undo the last change. */
export class Drawing {
  readonly element = el("div", { class: "chips", role: "group", "aria-label": "Drawing" });

  constructor(private readonly lab: Lab) {
    lab.onDocument(() => this.show());
    lab.onResult(() => this.show());
    addEventListener("keydown", (event) => {
      if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey) return;
      // In a text field, the browser itself undoes typing.
      if (event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement) return;
      event.preventDefault();
      lab.undo();
    });
  }

  private show(): void {
    const { lab } = this;
    const undo = button("Undo", "Take back the last change (Ctrl-Z)", () => lab.undo(), "chip");
    undo.disabled = !lab.canUndo;
    const tools = isDrawn(lab.doc)
      ? [
          button("+ Host", "Add a host", () => this.add("host"), "chip add"),
          button("+ Router", "Add a router", () => this.add("router"), "chip add"),
        ]
      : [button("Draw", "Make this network a drawing, which is changed by hand", () => draw(lab), "chip")];
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const label = focused?.getAttribute("aria-label");
    this.element.replaceChildren(...tools, undo);
    if (label) this.element.querySelector<HTMLElement>(`[aria-label="${CSS.escape(label)}"]`)?.focus();
  }

  private add(kind: "host" | "router"): void {
    const { lab } = this;
    if (!lab.doc) return;
    const [doc, name] = added(lab.doc, kind);
    lab.replace(doc);
    lab.choose({ kind: "node", name });
  }
}

/** Turns the network of the last run into a drawing with the same links. */
function draw(lab: Lab): void {
  const header = lab.result?.run.recording.header;
  if (!lab.doc || !header || lab.result?.text !== lab.text) return;
  const links = header.links
    .filter(({ forward }) => forward)
    .map(({ name, from, to, rate_bps, delay_ns }) => {
      const key = linkKey(lab, name);
      const held = key && get(lab.doc!, key);
      return {
        name,
        from,
        to,
        described: isTable(held) ? held : undefined,
        rate: quantity(rate_bps ?? 1e7, "bps"),
        delay: `${(delay_ns ?? 0) / 1000} us`,
      };
    });
  const ends = header.flows.map(({ client, server }): [string, string] => [String(client), String(server)]);
  const drawn = lab.catalogue
    .entries("topology")
    .find(({ links }) => links?.some(({ count }) => count === "named"));
  lab.replace(asDrawing(lab.doc, drawn!.name, header.nodes, links, ends));
}

/** Fields for a node of a drawing: its name, and new links and flows from it. */
export function nodeFields(lab: Lab, name: string): HTMLElement[] {
  const doc = lab.doc!;
  const all = nodes(doc);
  const node = all.find((one) => one.name === name);
  if (!node) return [];
  const heading = el("h3", {}, `${node.kind === "host" ? "Host" : "Router"} ${name}`);
  const remove = () => {
    lab.choose({ kind: "scenario" });
    lab.replace(removed(doc, name));
  };
  heading.append(button("Remove", `Remove ${name}, its links and its flows`, remove, "small"));
  const others = all.filter((one) => one.name !== name);
  const fields = [
    heading,
    ...nameField(lab, name, others),
    chooser(
      "link to",
      `Link ${name} to`,
      others.map((one) => one.name),
      (to) => lab.replace(joined(doc, name, to)),
    ),
  ];
  const hosts = others.filter(({ kind }) => kind === "host").map((one) => one.name);
  if (node.kind === "host") {
    fields.push(
      chooser("flow to", `Flow from ${name} to`, hosts, (to) => lab.replace(flowed(doc, name, to))),
    );
  }
  return fields;
}

function nameField(lab: Lab, name: string, others: { name: string }[]): HTMLElement[] {
  const input = el("input", { type: "text", value: name, "aria-label": `Name of ${name}` });
  const wrong = el("span", { class: "failure", role: "alert" });
  input.addEventListener("change", () => {
    const entered = input.value.trim();
    const taken = others.some((one) => one.name === entered);
    wrong.textContent = taken
      ? `There is a node ${entered} already.`
      : NAME.test(entered)
        ? ""
        : "A name has letters, digits, - and _.";
    if (wrong.textContent || entered === name) return;
    const place = lab.places.get(name);
    if (place) lab.places.set(entered, place);
    lab.choose({ kind: "node", name: entered });
    lab.replace(renamed(lab.doc!, name, entered));
  });
  return [el("div", { class: "field words" }, el("label", {}, "name"), input), wrong];
}

/** Drop-down list of nodes; `done` is called with the chosen one. */
function chooser(label: string, title: string, names: string[], done: (name: string) => void): HTMLElement {
  const options = ["…", ...names].map((name, index) => el("option", { value: index ? name : "" }, name));
  const made = el(
    "select",
    { "aria-label": title, onchange: () => made.value && done(made.value) },
    ...options,
  );
  return el("div", { class: "field choice" }, el("label", {}, label), made);
}
