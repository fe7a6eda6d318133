/** Distinct parts of the names of runs, and the part that all share. */
export interface Apart {
  common: string;
  own: string[];
}

/**
 * Removes the entries that all names share from names that are lists ("variant bbr, seed 1"); they stay whole if a name
 * would be left empty.
 */
export function apart(names: readonly string[]): Apart {
  const lists = names.map((name) => name.split(", "));
  const shared = (entry: string): boolean => lists.every((list) => list.includes(entry));
  const own = lists.map((list) => list.filter((entry) => !shared(entry)).join(", "));
  if (names.length < 2 || own.includes("")) return { common: "", own: [...names] };
  return { common: lists[0]!.filter(shared).join(", "), own };
}
