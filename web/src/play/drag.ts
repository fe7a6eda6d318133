import { svg } from "../dom";

interface Point {
  x: number;
  y: number;
}

/** Callbacks for gestures on the nodes of a drawing. */
export interface Gestures {
  /** Position of a node; null if it cannot be moved. */
  place(name: string): Point | null;
  chosen(name: string): void;
  joined(from: string, to: string): void;
  moved(name: string, to: Point): void;
}

/** Movement below which a press is a click, in units of the drawing. */
const STILL = 8;

/** Makes nodes draggable: a node dropped on another is linked to it, and one dropped elsewhere moves there. */
export function drags(drawing: SVGSVGElement, gestures: Gestures): void {
  const at = ({ clientX, clientY }: PointerEvent): Point =>
    new DOMPoint(clientX, clientY).matrixTransform(drawing.getScreenCTM()!.inverse());
  const nodeAt = ({ clientX, clientY }: PointerEvent) =>
    document.elementFromPoint(clientX, clientY)?.closest("[data-node]")?.getAttribute("data-node");
  let held: { name: string; from: Point; start: Point; line: SVGLineElement } | null = null;

  drawing.addEventListener("pointerdown", (event) => {
    const name = (event.target as Element).closest("[data-node]")?.getAttribute("data-node");
    const from = name && gestures.place(name);
    if (!name || !from || event.button) return;
    drawing.setPointerCapture(event.pointerId);
    const line = svg("line", { class: "draft", x1: from.x, y1: from.y, x2: from.x, y2: from.y });
    drawing.prepend(line);
    held = { name, from, start: at(event), line };
  });
  // A finger that drags a node must not scroll the page; `touch-action` has no effect on parts of a drawing.
  drawing.addEventListener(
    "touchstart",
    (event) => {
      if (held) event.preventDefault();
    },
    { passive: false },
  );
  drawing.addEventListener("pointermove", (event) => {
    if (!held) return;
    const { x, y } = at(event);
    held.line.setAttribute("x2", String(x));
    held.line.setAttribute("y2", String(y));
  });
  const end = (event: PointerEvent, completed: boolean) => {
    if (!held) return;
    const { name, start, line } = held;
    held = null;
    line.remove();
    if (!completed) return;
    const to = at(event);
    const other = nodeAt(event);
    if (Math.hypot(to.x - start.x, to.y - start.y) < STILL) gestures.chosen(name);
    else if (other && other !== name) gestures.joined(name, other);
    else gestures.moved(name, to);
  };
  drawing.addEventListener("pointerup", (event) => end(event, true));
  drawing.addEventListener("pointercancel", (event) => end(event, false));
}
