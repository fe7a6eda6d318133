import assert from "node:assert/strict";
import test from "node:test";
import { load, numbers } from "./load.mjs";

const { Pyramid } = await load("drawing/pyramid.ts");
const { lowerBound, upperBound } = await load("drawing/search.ts");

test("extremes of any range are those of its elements", () => {
  for (const count of [0, 1, 7, 8, 9, 64, 65, 1000, 4097]) {
    const values = numbers(count);
    const pyramid = new Pyramid(values);
    for (const share of numbers(60, 3)) {
      const from = Math.floor(share * count);
      for (const to of [from, from + 1, from + 17, count]) {
        if (to > count) continue;
        const part = [...values.slice(from, to)];
        assert.equal(pyramid.range(from, to), part.length > 0);
        assert.equal(pyramid.min, Math.min(...part));
        assert.equal(pyramid.max, Math.max(...part));
      }
    }
  }
});

test("NaN counts for nothing, and bars have two ends", () => {
  const pyramid = new Pyramid(Float64Array.of(Number.NaN, 2, 5), Float64Array.of(Number.NaN, 3, 9));
  assert.equal(pyramid.range(0, 1), false);
  assert.equal(pyramid.range(0, 3), true);
  assert.deepEqual([pyramid.min, pyramid.max], [2, 9]);
});

test("bounds of equal elements", () => {
  const sorted = [1, 2, 2, 2, 5];
  assert.deepEqual([lowerBound(sorted, 2), upperBound(sorted, 2)], [1, 4]);
  assert.deepEqual([lowerBound(sorted, 0), upperBound(sorted, 9)], [0, 5]);
});
