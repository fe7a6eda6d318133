// A slide's drawings: of their own size, with full legends, and with nothing above the picture.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { svgOf, stops } = await load("drawing/export.ts");
const { view } = await load("drawing/lod.ts");

const theme = { paper: "#fff", ink: "#000", soft: "#555", grid: "#eee" };
const labels = Array.from({ length: 14 }, (_, nth) => `flow ${nth}: tcp cubic`);

/** A plot of a line from 0 to 100, of which the screen shows up to 40. */
const plot = (whole) => {
  const made = { theme, fitted: 0 };
  made.refit = () => made.fitted++;
  made.panel = {
    title: "Goodput",
    unit: "bit/s",
    keys: () => labels.map((label) => ({ label, colour: "#00f" })),
    ...(whole ? { whole: () => [0, 106] } : {}),
  };
  made.shown = (box, [bottom, top] = [0, 40]) => view(0, 1e9, bottom, top, box);
  made.compose = (pen, shown) => {
    made.box = shown.box;
    pen.line("#00f", 1, [shown.x(0), shown.y(0), shown.x(1e9), shown.y(100)]);
  };
  return made;
};

test("a drawing has its size, all of its legend, and its peaks", () => {
  const drawn = plot(true);
  const text = svgOf(drawn, { width: 604, height: 316 }).toString();
  assert.match(text, /width="604" height="316"/);
  for (const label of labels) assert.ok(text.includes(`>${label}</text>`), label);
  const entries = [...text.matchAll(/<text x="([\d.]+)"[^>]*>flow/g)].map(([, x]) => Number(x));
  assert.ok(
    Math.max(...entries) + labels[0].length * 6.2 <= 604,
    "an entry of the legend leaves the picture",
  );
  const { left, top, width, height } = drawn.box;
  assert.ok(left > 0 && left + width < 604 && top + height < 316 && height > 150);
  const peak = Number([...text.matchAll(/L[\d.]+ (-?[\d.]+)"/g)].at(-1)[1]);
  assert.ok(peak >= top, `${peak} is above ${top}`);
  assert.equal(drawn.fitted, 1);
});

test("ticks are round, and as many as there is room for", () => {
  assert.deepEqual(stops(0, 1.59e6, 7), [0, 250000, 500000, 750000, 1000000, 1250000, 1500000]);
  assert.deepEqual(stops(0, 20e9, 6), [0, 5e9, 10e9, 15e9, 20e9]);
  assert.deepEqual(stops(3, 3, 5), [3]);
  for (const most of [2, 5, 9]) assert.ok(stops(0, 34.98, most).length <= most + 1);
});
