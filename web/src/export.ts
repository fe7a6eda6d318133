import { save } from "./dom";
import { SvgPen } from "./pen";
import type { Plot } from "./plot";

const fileName = (title: string, ending: string) =>
  `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${ending}`;

/** What a canvas shows, on the theme's paper. */
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

export function exportPng(plot: Plot): void {
  savePng(plot.canvas, plot.theme.paper, plot.panel.title);
}

/** Draws what a panel shows once more, as paths, with its title, axes and legend. */
export function svgOf(plot: Plot): SvgPen {
  const { theme, panel } = plot;
  const box = plot.box();
  const head = 44;
  const frame = { ...box, top: box.top + head };
  const width = box.left + box.width + 12;
  const pen = new SvgPen(width, frame.top + box.height + 30, theme.paper);
  const shown = plot.shown(frame);
  pen.text(theme.ink, 12, 16, panel.title, "left", 14);
  let left = 12;
  for (const key of panel.keys()) {
    pen.segments(key.colour, key.shape === "bar" ? 6 : 2, [left, 34, left + 14, 34], 1, key.dash);
    pen.text(theme.soft, left + 19, 34, key.label);
    left += 36 + key.label.length * 6;
  }
  const { x, y } = plot.ticks();
  const bottom = frame.top + frame.height;
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

export function exportSvg(plot: Plot): void {
  saveSvg(svgOf(plot), plot.panel.title);
}
