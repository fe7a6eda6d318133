/** Names of runs as far as they differ, and the part that all of them share. */
export interface Apart {
  common: string;
  own: string[];
}

/** Names that are lists ("variant bbr, seed 1") without the entries that all have; whole where nothing else is left. */
export function apart(names: readonly string[]): Apart {
  const lists = names.map((name) => name.split(", "));
  const shared = (entry: string): boolean => lists.every((list) => list.includes(entry));
  const own = lists.map((list) => list.filter((entry) => !shared(entry)).join(", "));
  if (names.length < 2 || own.includes("")) return { common: "", own: [...names] };
  return { common: lists[0]!.filter(shared).join(", "), own };
}
