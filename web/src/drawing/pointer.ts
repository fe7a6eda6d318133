import { el } from "../dom";
import type { TimeAxis } from "./axis";
import type { Vertical } from "./vertical";

/** Movement in pixels below which a press is a click. */
const STILL = 4;

/** Speed of zooming by wheel: logarithm of the factor per scrolled pixel. */
const WHEEL = 0.0022;

/**
 * Binds gestures: the wheel zooms (with Alt vertically), a drag pans, a drag with Shift selects a range, two fingers
 * zoom and pan, and a click goes to the panel.
 */
export function gestures(
  over: HTMLElement,
  axis: TimeAxis,
  vertical: Vertical,
  click: (x: number, y: number) => void,
): void {
  const brush = el("div", { class: "brush", hidden: true });
  over.append(brush);
  const pointers = new Map<number, { x: number; y: number }>();
  let start: { x: number; y: number; lo: number; hi: number } | null = null;
  let moved = false;
  let brushing = false;

  const width = () => over.clientWidth || 1;
  const height = () => over.clientHeight || 1;
  const place = (event: PointerEvent | WheelEvent) => {
    const box = over.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const momentAt = (x: number) => axis.lo + (x / width()) * axis.span;
  const anchor = () => {
    const [a, b] = [...pointers.values()];
    if (a) start = { x: b ? (a.x + b.x) / 2 : a.x, y: a.y, lo: axis.lo, hi: axis.hi };
  };

  over.addEventListener(
    "wheel",
    (event) => {
      // Outside of drawings (over headings, axes and the network), the wheel scrolls the page.
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      if (event.altKey) vertical.zoom(Math.exp(event.deltaY * lines * WHEEL), 1 - place(event).y / height());
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) axis.pan((event.deltaX * lines) / width());
      else axis.zoom(Math.exp(event.deltaY * lines * WHEEL), momentAt(place(event).x));
    },
    { passive: false },
  );

  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    over.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    moved = pointers.size > 1;
    brushing = event.shiftKey && pointers.size === 1;
    anchor();
  });

  over.addEventListener("pointermove", (event) => {
    const at = place(event);
    const before = pointers.get(event.pointerId);
    if (!before || !start) {
      axis.pointAt(momentAt(at.x));
      return;
    }
    const [first, second] = [...pointers.keys()];
    if (first !== undefined && second !== undefined) {
      const gap = () => Math.abs(pointers.get(first)!.x - pointers.get(second)!.x) + 1;
      const old = gap();
      pointers.set(event.pointerId, at);
      const middle = (pointers.get(first)!.x + pointers.get(second)!.x) / 2;
      axis.pan(-(middle - start.x) / width());
      start.x = middle;
      axis.zoom(old / gap(), momentAt(middle));
      return;
    }
    if (Math.abs(at.x - start.x) > STILL) moved = true;
    if (vertical.isChosen && Math.abs(at.y - start.y) > STILL) moved = true;
    if (!moved) return;
    if (brushing) {
      brush.hidden = false;
      brush.style.left = `${Math.min(at.x, start.x)}px`;
      brush.style.width = `${Math.abs(at.x - start.x)}px`;
    } else {
      const shift = ((at.x - start.x) / width()) * (start.hi - start.lo);
      axis.show(start.lo - shift, start.hi - shift);
      vertical.pan((at.y - before.y) / height());
      pointers.set(event.pointerId, at);
      over.classList.add("grabbed");
    }
  });

  const up = (event: PointerEvent) => {
    if (!pointers.delete(event.pointerId) || !start) return;
    over.classList.remove("grabbed");
    const at = place(event);
    if (brushing && !brush.hidden) {
      brush.hidden = true;
      const [a, b] = [momentAt(start.x), momentAt(at.x)];
      axis.show(Math.min(a, b), Math.max(a, b));
    } else if (!moved && event.type === "pointerup") {
      axis.pointAt(momentAt(at.x));
      click(at.x, at.y);
    }
    start = null;
    anchor();
  };
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", up);
  over.addEventListener("dblclick", (event) =>
    axis.zoom(event.shiftKey ? 4 : 0.25, momentAt(place(event as PointerEvent).x)),
  );
}

/** Binds gestures on the vertical axis: a drag selects a range, the wheel with Alt zooms, a double click shows all. */
export function scaleGestures(scale: HTMLElement, over: HTMLElement, vertical: Vertical): void {
  const brush = el("div", { class: "brush level", hidden: true });
  over.append(brush);
  let start: number | null = null;
  const place = (event: MouseEvent) => event.clientY - over.getBoundingClientRect().top;
  const share = (y: number) => 1 - y / (over.clientHeight || 1);

  scale.addEventListener(
    "wheel",
    (event) => {
      if (!event.altKey) return;
      event.preventDefault();
      vertical.zoom(Math.exp(event.deltaY * (event.deltaMode === 1 ? 16 : 1) * WHEEL), share(place(event)));
    },
    { passive: false },
  );
  scale.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    scale.setPointerCapture(event.pointerId);
    start = place(event);
  });
  scale.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const at = place(event);
    brush.hidden = Math.abs(at - start) <= STILL;
    brush.style.top = `${Math.min(at, start)}px`;
    brush.style.height = `${Math.abs(at - start)}px`;
  });
  const up = (event: PointerEvent) => {
    if (start !== null && !brush.hidden && event.type === "pointerup") {
      vertical.choose(share(start), share(place(event)));
    }
    brush.hidden = true;
    start = null;
  };
  scale.addEventListener("pointerup", up);
  scale.addEventListener("pointercancel", up);
  scale.addEventListener("dblclick", () => vertical.fit());
}
