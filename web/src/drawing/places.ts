export interface Place {
  name: string;
  x: number;
  y: number;
}

/** Places of nodes that stand in columns and rows, as fractions of a drawing with this number of rows. */
export function fractions(nodes: Place[]): { places: Place[]; rows: number } {
  const [left, top] = [Math.min(...nodes.map(({ x }) => x)), Math.min(...nodes.map(({ y }) => y))];
  const width = Math.max(...nodes.map(({ x }) => x)) - left;
  const rows = nodes.length ? Math.max(...nodes.map(({ y }) => y)) - top + 1 : 1;
  const places = nodes.map(({ name, x, y }) => ({
    name,
    x: width ? (x - left) / width : 0.5,
    y: (y - top + 0.5) / rows,
  }));
  return { places, rows };
}
