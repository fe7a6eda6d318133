import { el } from "../dom";

export interface Command {
  /** Values of `KeyboardEvent.key`. */
  keys: string[];
  /** How the help names the keys. */
  shown: string;
  help: string;
  run(): void;
}

/** Whether the focused control uses the key itself. */
function taken(event: KeyboardEvent): boolean {
  const { target, key } = event;
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches("select, textarea, input:not([type=range])")) return true;
  if (target.matches("input[type=range]")) return /^(Arrow|Home|End|Page)/.test(key);
  return target.matches("button, a, summary") && (key === " " || key === "Enter");
}

let earlier: AbortController | null = null;

/** Binds the page's keys to a view, and unbinds those of an earlier view. */
export function keyboard(commands: Command[]): void {
  earlier?.abort();
  earlier = new AbortController();
  const { signal } = earlier;
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || taken(event)) return;
      // An open dialog gets all keys.
      if (document.querySelector("dialog[open]")) return;
      const command = commands.find(({ keys }) => keys.includes(event.key));
      if (!command) return;
      event.preventDefault();
      command.run();
    },
    { signal },
  );
}

/** Help on what the keys and the pointer do. */
export function helpDialog(commands: Command[]): HTMLDialogElement {
  const pointer: [string, string][] = [
    ["wheel", "zoom about the pointer"],
    ["drag", "move through time"],
    ["Shift + drag", "show what was dragged over"],
    ["double click", "zoom in (with Shift: out)"],
    ["Alt + wheel", "zoom vertically"],
    ["drag on a vertical axis", "show what was dragged over; double click: all again"],
    ["click", "open the packet at the pointer"],
    ["two fingers", "zoom and move"],
  ];
  const rows = [...commands.map(({ shown, help }): [string, string] => [shown, help]), ...pointer];
  const list = el(
    "dl",
    {},
    ...rows.flatMap(([key, help]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, help)]),
  );
  const close = el("button", { type: "submit", class: "close" }, "Close");
  const dialog = el("dialog", { class: "help", "aria-label": "Keys and gestures" });
  dialog.append(el("form", { method: "dialog" }, el("h2", {}, "Keys and gestures"), list, close));
  return dialog;
}
