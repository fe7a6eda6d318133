import assert from "node:assert/strict";
import test from "node:test";
import { load, numbers } from "./load.mjs";

globalThis.requestAnimationFrame = () => 1;

const { TimeAxis } = await load("drawing/axis.ts");
const { stairs, view, drawBars } = await load("drawing/lod.ts");
const { Pyramid } = await load("drawing/pyramid.ts");
const { binOf, growth } = await load("view/panels/rates.ts");
const { fractions } = await load("drawing/places.ts");
const { duration, moment, moments, quantity, ticks } = await load("format.ts");
const { SvgPen } = await load("drawing/pen.ts");

const box = { left: 0, top: 0, width: 500, height: 100 };

test("the axis stays within the run, and zoom keeps its place", () => {
  const axis = new TimeAxis(0, 1e9);
  axis.zoom(0.5, 2.5e8);
  assert.deepEqual([axis.lo, axis.hi], [1.25e8, 6.25e8]);
  axis.pan(-5);
  assert.deepEqual([axis.lo, axis.hi], [0, 5e8]);
  axis.zoom(100);
  assert.deepEqual([axis.lo, axis.hi], [0, 1e9]);
  for (let step = 0; step < 60; step++) axis.zoom(0.5, 3e8);
  assert.ok(axis.lo <= 3e8 && axis.hi >= 3e8 && axis.span >= 199);
});

test("a dense line has few points and keeps the extremes", () => {
  const time = Float64Array.from({ length: 100_000 }, (_, at) => at);
  const value = numbers(100_000);
  value[77_777] = 5;
  const shown = view(0, 100_000, 0, 5, box);
  const points = stairs(time, value, new Pyramid(value), shown);
  assert.ok(points.length / 2 <= 4 * 500 + 1);
  assert.ok(points.includes(0), "the greatest value is at the top");
});

test("a sparse line is steps that hold until the next", () => {
  const time = Float64Array.of(0, 10, 20);
  const value = Float64Array.of(1, 3, 2);
  const points = stairs(time, value, new Pyramid(value), view(5, 15, 0, 4, { ...box, width: 10 }));
  assert.deepEqual(points, [0, 75, 5, 75, 5, 25, 10, 25]);
});

test("dense bars are one rectangle for each column", () => {
  const time = Float64Array.from({ length: 50_000 }, (_, at) => at);
  const bars = { time, low: time, high: time, pyramid: new Pyramid(time) };
  const boxes = [];
  drawBars({ rects: (_, list) => boxes.push(...list) }, "", bars, view(0, 50_000, 0, 50_000, box));
  assert.equal(boxes.length / 4, 500);
});

test("rates are the growth of a sum in bins whose edges stay", () => {
  assert.equal(binOf(1e9, 1000), 1e7);
  assert.equal(binOf(1.2e9, 1000), 1e7);
  const time = Float64Array.of(0, 10, 20, 30);
  const value = Float64Array.of(100, 200, 300, 400);
  const { time: edges, value: rates } = growth(time, value, 5, 35, 10);
  assert.deepEqual([...edges], [0, 10, 20, 30]);
  assert.equal(rates[1], (100 * 8e9) / 10);
});

test("places in columns and rows are fractions of a drawing", () => {
  const node = (name, x, y) => ({ name, kind: "host", x, y });
  const { places, rows } = fractions([node("a", -1, -0.5), node("b", -1, 0.5), node("c", 1, 0)]);
  assert.equal(rows, 2);
  assert.deepEqual(places, [
    { name: "a", x: 0, y: 0.25 },
    { name: "b", x: 0, y: 0.75 },
    { name: "c", x: 1, y: 0.5 },
  ]);
  assert.deepEqual(fractions([node("a", 3, 3)]).places, [{ name: "a", x: 0.5, y: 0.5 }]);
});

test("numbers are written with their units", () => {
  assert.equal(quantity(14480, "B"), "14.48 kB");
  assert.equal(quantity(0.0351, "s"), "35.1 ms");
  assert.equal(quantity(Number.NaN, "s"), "–");
  assert.equal(quantity(Number.POSITIVE_INFINITY, "B"), "∞");
  assert.deepEqual(ticks([0, 500, 1000], "B"), ["0", "0.5 kB", "1.0 kB"]);
  assert.deepEqual(ticks([0, 0.25, 0.5], "s"), ["0", "250 ms", "500 ms"]);
  assert.deepEqual(moments([0, 5e8, 1e9]), ["0.0 s", "0.5 s", "1.0 s"]);
  assert.deepEqual(moments([1e6, 1.5e6]), ["1.0 ms", "1.5 ms"]);
  assert.equal(moment(1234567890), "1.234\u202f567\u202f890 s");
  assert.equal(duration(2_500_000), "2.5 ms");
});

test("an SVG file's text is never markup", () => {
  const pen = new SvgPen(10, 10, "#fff");
  pen.text("#000", 0, 0, "<script>&");
  assert.ok(!pen.toString().includes("<script>"));
});
