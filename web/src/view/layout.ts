import type { Link } from "./recording";

export interface Place {
  name: string;
  /** Fractions of the drawing's width and height. */
  x: number;
  y: number;
}

/**
 * Places nodes in columns by their distance from the clients, so that data moves along one direction; nodes of a column
 * are spread evenly, near the nodes that they are linked to.
 */
export function layout(links: Pick<Link, "from" | "to">[], clients: string[]): Place[] {
  const near = new Map<string, Set<string>>();
  const join = (a: string, b: string) => {
    if (!near.has(a)) near.set(a, new Set());
    near.get(a)!.add(b);
  };
  for (const { from, to } of links) {
    join(String(from), String(to));
    join(String(to), String(from));
  }
  const distance = new Map<string, number>();
  let front = clients.filter((name) => near.has(name));
  if (front.length === 0) front = [...near.keys()].slice(0, 1);
  for (const name of front) distance.set(name, 0);
  while (distance.size < near.size) {
    const next: string[] = [];
    for (const name of front) {
      for (const other of near.get(name)!) {
        if (distance.has(other)) continue;
        distance.set(other, distance.get(name)! + 1);
        next.push(other);
      }
    }
    if (next.length === 0) {
      // A part of the network that no client reaches starts again at the left.
      const left = [...near.keys()].find((name) => !distance.has(name));
      if (left === undefined) break;
      distance.set(left, 0);
      next.push(left);
    }
    front = next;
  }
  const columns: string[][] = [];
  for (const [name, far] of distance) {
    columns[far] ??= [];
    columns[far].push(name);
  }
  const places = new Map<string, Place>();
  columns.forEach((names, column) => {
    const height = (name: string) => {
      const known = [...near.get(name)!].flatMap((other) => places.get(other)?.y ?? []);
      return known.length ? known.reduce((a, b) => a + b, 0) / known.length : 0.5;
    };
    names.sort((a, b) => height(a) - height(b));
    names.forEach((name, row) => {
      const x = columns.length > 1 ? column / (columns.length - 1) : 0.5;
      places.set(name, { name, x, y: (row + 0.5) / names.length });
    });
  });
  return [...places.values()];
}
