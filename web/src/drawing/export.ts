import { save } from "../dom";
import { moments, ticks } from "../format";
import type { View } from "./lod";
import type { Drawn, Key } from "./panel";
import { crosses, SvgPen } from "./pen";

const fileName = (title: string, ending: string) =>
  `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${ending}`;

/** Saves a canvas as PNG, on the theme's background. */
export function savePng(canvas: HTMLCanvasElement, paper: string, title: string): void {
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext("2d")!;
  context.fillStyle = paper;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => blob && save(blob, fileName(title, "png")));
}

export function saveSvg(pen: SvgPen, title: string): void {
  save(new Blob([pen.toString()], { type: "image/svg+xml" }), fileName(title, "svg"));
}

export function exportPng(plot: Drawn): void {
  savePng(plot.canvas, plot.theme.paper, plot.panel.title);
}

/** Wraps a legend to the width of the drawing: each key with its position and row. */
function rowsOf(keys: Key[], width: number): { key: Key; x: number; row: number }[] {
  let [x, row] = [12, 0];
  return keys.map((key) => {
    const long = 36 + key.label.length * 6.2;
    if (x > 12 && x + long > width) [x, row] = [12, row + 1];
    x += long;
    return { key, x: x - long, row };
  });
}

function drawKey(pen: SvgPen, key: Key, x: number, y: number): void {
  if (key.shape === "cross") pen.segments(key.colour, 1.5, crosses([x + 7, y], 3.5));
  else if (key.shape === "block") pen.rects(key.colour, [x + 1, y - 5, 12, 10]);
  else if (key.shape === "band") pen.rects(key.colour, [x + 1, y - 5, 12, 10], 0.3);
  else if (key.shape === "bar") pen.rects(key.colour, [x + 6, y - 5, 3, 10]);
  else pen.segments(key.colour, 2, [x, y, x + 14, y], 1, key.dash);
}

/** Size of a drawing with its title, axes and legend, in pixels. */
interface Size {
  width: number;
  height: number;
}

/** Margins left, right and below of the drawing in pixels, if its size is not the screen's. */
const ROOM = { left: 78, right: 22, bottom: 30 };

/** Round numbers in a range, about `most` of them. */
export function stops(lo: number, hi: number, most: number): number[] {
  const least = (hi - lo) / most;
  if (!(least > 0)) return [lo];
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= least * 0.999)! * power;
  const first = Math.ceil(lo / step - 1e-9);
  const count = Math.floor(hi / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, nth) => (first + nth) * step);
}

/** Ticks with labels, for a drawing whose size is not the screen's. */
function ticksOf(plot: Drawn, { lo, hi, bottom, top, box }: View): ReturnType<Drawn["ticks"]> {
  const x = stops(lo, hi, box.width / 90);
  const names = plot.panel.rows?.();
  const y = names ? names.map((_, row) => -row) : stops(bottom, top, box.height / 34);
  const [moment, value] = [moments(x), names ?? ticks(y, plot.panel.unit)];
  return {
    x: x.map((at, nth) => [at, moment[nth]!]),
    y: y.map((at, nth) => [at, value[nth]!]),
  };
}

/**
 * Redraws what a panel shows as paths, with its title, axes and full legend. With a `size`, nothing leaves the picture,
 * since its viewers cannot zoom.
 */
export function svgOf(plot: Drawn, size?: Size): SvgPen {
  const { theme, panel } = plot;
  if (size) plot.refit();
  const own = size ? null : plot.box();
  const width = size?.width ?? own!.left + own!.width + 22;
  const keys = rowsOf(panel.keys(), width);
  const head = 30 + 16 * ((keys.at(-1)?.row ?? -1) + 1);
  const frame = own
    ? { ...own, top: own.top + head }
    : {
        left: ROOM.left,
        top: 8 + head,
        width: width - ROOM.left - ROOM.right,
        height: size!.height - 8 - head - ROOM.bottom,
      };
  const bottom = frame.top + frame.height;
  const pen = new SvgPen(width, size?.height ?? bottom + 30, theme.paper);
  const shown = plot.shown(frame, size ? panel.whole?.() : undefined);
  pen.text(theme.ink, 12, 16, panel.title, "left", 14);
  for (const { key, x, row } of keys) {
    drawKey(pen, key, x, 36 + 16 * row);
    pen.text(theme.soft, x + 19, 36 + 16 * row, key.label);
  }
  const { x, y } = size ? ticksOf(plot, shown) : plot.ticks();
  pen.segments(
    theme.grid,
    1,
    x.flatMap(([at]) => [shown.x(at), frame.top, shown.x(at), bottom]),
  );
  pen.segments(
    theme.grid,
    1,
    y.flatMap(([at]) => [frame.left, shown.y(at), frame.left + frame.width, shown.y(at)]),
  );
  for (const [at, label] of x) pen.text(theme.soft, shown.x(at), bottom + 14, label, "center");
  for (const [at, label] of y) pen.text(theme.soft, frame.left - 8, shown.y(at), label, "right");
  pen.clip(frame);
  plot.compose(pen, shown);
  pen.clip(null);
  return pen;
}

/** Converts a drawing to an image that is sharp at any size. */
export async function imageOf(pen: SvgPen): Promise<HTMLImageElement> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([pen.toString()], { type: "image/svg+xml" }));
  image.src = address;
  await image.decode();
  URL.revokeObjectURL(address);
  return image;
}

export function exportSvg(plot: Drawn): void {
  saveSvg(svgOf(plot), plot.panel.title);
}
