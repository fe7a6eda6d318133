/**
 * Drawing interface of the panels, for the screen's canvas or an SVG file. Coordinates are CSS pixels in flat arrays,
 * so that ten thousand marks take one call and no objects.
 */
export interface Pen {
  /** Separate lines: x1, y1, x2, y2 of each. */
  segments(colour: string, width: number, ends: number[], alpha?: number, dash?: number[]): void;
  /** Polyline through points; NaN starts another. */
  line(colour: string, width: number, points: number[], dash?: number[]): void;
  /** Filled rectangles: x, y, width, height of each. */
  rects(colour: string, boxes: number[], alpha?: number): void;
  /** Filled circles around points. */
  dots(colour: string, radius: number, points: number[], alpha?: number): void;
  text(
    colour: string,
    x: number,
    y: number,
    text: string,
    align?: "left" | "center" | "right",
    size?: number,
  ): void;
}

export const FONT = 'Inter, system-ui, "Helvetica Neue", Arial, sans-serif';

/** Ends of the strokes of crosses at points. */
export function crosses(points: number[], radius: number): number[] {
  const ends: number[] = [];
  for (let at = 0; at < points.length; at += 2) {
    const x = points[at]!;
    const y = points[at + 1]!;
    ends.push(x - radius, y - radius, x + radius, y + radius, x - radius, y + radius, x + radius, y - radius);
  }
  return ends;
}

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  segments(colour: string, width: number, ends: number[], alpha = 1, dash: number[] = []): void {
    const { context } = this;
    this.stroke(colour, width, alpha, dash);
    context.beginPath();
    for (let at = 0; at < ends.length; at += 4) {
      context.moveTo(ends[at]!, ends[at + 1]!);
      context.lineTo(ends[at + 2]!, ends[at + 3]!);
    }
    context.stroke();
  }

  line(colour: string, width: number, points: number[], dash: number[] = []): void {
    const { context } = this;
    this.stroke(colour, width, 1, dash);
    context.beginPath();
    let open = false;
    for (let at = 0; at < points.length; at += 2) {
      const x = points[at]!;
      const y = points[at + 1]!;
      if (Number.isNaN(x) || Number.isNaN(y)) open = false;
      else if (open) context.lineTo(x, y);
      else {
        context.moveTo(x, y);
        open = true;
      }
    }
    context.stroke();
  }

  rects(colour: string, boxes: number[], alpha = 1): void {
    const { context } = this;
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    for (let at = 0; at < boxes.length; at += 4) {
      context.fillRect(boxes[at]!, boxes[at + 1]!, boxes[at + 2]!, boxes[at + 3]!);
    }
    context.globalAlpha = 1;
  }

  dots(colour: string, radius: number, points: number[], alpha = 1): void {
    const { context } = this;
    context.globalAlpha = alpha;
    context.fillStyle = colour;
    context.beginPath();
    for (let at = 0; at < points.length; at += 2) {
      context.moveTo(points[at]! + radius, points[at + 1]!);
      context.arc(points[at]!, points[at + 1]!, radius, 0, 2 * Math.PI);
    }
    context.fill();
    context.globalAlpha = 1;
  }

  text(colour: string, x: number, y: number, text: string, align: CanvasTextAlign = "left", size = 11): void {
    const { context } = this;
    context.font = `${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }

  private stroke(colour: string, width: number, alpha: number, dash: number[]): void {
    const { context } = this;
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.setLineDash(dash);
    context.globalAlpha = alpha;
  }
}

const round = (value: number) => Math.round(value * 100) / 100;

/** Pen that writes an SVG document. */
export class SvgPen implements Pen {
  private readonly parts: string[] = [];

  constructor(
    readonly width: number,
    readonly height: number,
    private readonly paper: string,
  ) {}

  /** Clips the drawing to a box until the next call; without a box, nothing is clipped. */
  clip(box: { left: number; top: number; width: number; height: number } | null): void {
    if (this.parts.includes("<!--clipped-->")) this.parts.push("</g>");
    if (!box) return;
    const { left, top, width, height } = box;
    this.parts.push(
      `<clipPath id="clip"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath>`,
      '<g clip-path="url(#clip)">',
      "<!--clipped-->",
    );
  }

  segments(colour: string, width: number, ends: number[], alpha = 1, dash: number[] = []): void {
    let path = "";
    for (let at = 0; at < ends.length; at += 4) {
      path += `M${round(ends[at]!)} ${round(ends[at + 1]!)}L${round(ends[at + 2]!)} ${round(ends[at + 3]!)}`;
    }
    this.path(path, colour, width, alpha, dash);
  }

  line(colour: string, width: number, points: number[], dash: number[] = []): void {
    let path = "";
    let open = false;
    for (let at = 0; at < points.length; at += 2) {
      const x = points[at]!;
      const y = points[at + 1]!;
      const drawn = !(Number.isNaN(x) || Number.isNaN(y));
      if (drawn) path += `${open ? "L" : "M"}${round(x)} ${round(y)}`;
      open = drawn;
    }
    this.path(path, colour, width, 1, dash);
  }

  rects(colour: string, boxes: number[], alpha = 1): void {
    let path = "";
    for (let at = 0; at < boxes.length; at += 4) {
      const [x, y, width, height] = boxes.slice(at, at + 4).map(round);
      path += `M${x} ${y}h${width}v${height}h${-width!}z`;
    }
    if (path) this.parts.push(`<path d="${path}" fill="${colour}" fill-opacity="${alpha}"/>`);
  }

  dots(colour: string, radius: number, points: number[], alpha = 1): void {
    for (let at = 0; at < points.length; at += 2) {
      this.parts.push(
        `<circle cx="${round(points[at]!)}" cy="${round(points[at + 1]!)}" r="${radius}" fill="${colour}" fill-opacity="${alpha}"/>`,
      );
    }
  }

  text(colour: string, x: number, y: number, text: string, align = "left", size = 11): void {
    const anchor = { left: "start", center: "middle", right: "end" }[align] ?? "start";
    this.parts.push(
      `<text x="${round(x)}" y="${round(y)}" dy="0.35em" fill="${colour}" font-size="${size}" text-anchor="${anchor}">${escaped(text)}</text>`,
    );
  }

  toString(): string {
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${escaped(FONT)}">`,
      `<rect width="100%" height="100%" fill="${this.paper}"/>`,
      ...this.parts,
      "</svg>\n",
    ].join("\n");
  }

  private path(path: string, colour: string, width: number, alpha: number, dash: number[]): void {
    if (!path) return;
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.parts.push(
      `<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-opacity="${alpha}" stroke-linejoin="round"${dashes}/>`,
    );
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
