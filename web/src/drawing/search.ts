/** Index of the first element of a sorted array that is not below `key`. */
export function lowerBound(sorted: ArrayLike<number>, key: number, from = 0, to = sorted.length): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first element of a sorted array that is above `key`. */
export function upperBound(sorted: ArrayLike<number>, key: number, from = 0, to = sorted.length): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}
