import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";
import { paths, upload } from "./recorded.mjs";

const { Run } = await load("view/run.ts");
const { columnsOf, LimitsPanel, on, stripOf, stripsOf } = await load("view/panels/limits.ts");
const { view } = await load("drawing/lod.ts");

const box = { left: 0, top: 0, width: 10, height: 20 };
const strip = (time, value, end, row = "flow 0") => ({
  row,
  name: row,
  colour: "#000000",
  end,
  series: {
    measure: { name: "limit", title: "Limit", unit: "", values: ["open", "window", "done"] },
    time: Float64Array.of(...time),
    value: Float64Array.of(...value),
  },
});

test("a column's time is shared by what held in it", () => {
  const made = strip([0, 25, 30, 75], [0, 1, 0, 1], 80);
  const [open, window] = columnsOf(made, view(0, 100, -0.5, 0.5, box));
  assert.deepEqual([...open], [1, 1, 0.5, 1, 1, 1, 1, 0.5, 0, 0]);
  assert.deepEqual([...window], [0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0], "nothing is known after the end");
  const [, zoomed] = columnsOf(made, view(20, 40, -0.5, 0.5, box));
  assert.deepEqual([...zoomed], [0, 0, 0.5, 1, 1, 0, 0, 0, 0, 0]);
});

test("a panel names what it shows, and what holds under the cursor", () => {
  const theme = { limits: ["#0072b2", "#d5dbe1"] };
  const strips = [strip([0, 50], [0, 1], 80), strip([20, 60], [0, 2], 80, "flow 1")];
  const panel = new LimitsPanel(
    "limits",
    () => theme,
    () => strips,
  );
  const keys = panel.keys();
  assert.deepEqual(
    keys.map(({ label }) => label),
    ["open", "window", "flow 0", "flow 1"],
    "who is done has no colour",
  );
  const at = (moment) => keys.slice(2).map((key) => key.at(moment));
  assert.deepEqual(
    [at(10), at(55), at(90)],
    [
      ["open", "–"],
      ["window", "open"],
      ["–", "–"],
    ],
  );
  const drawn = [];
  const pen = { rects: (colour, boxes) => drawn.push([colour, ...boxes]), text: () => {} };
  panel.paint(pen, view(0, 100, ...panel.fit(), box));
  const rounded = drawn.map(([colour, ...boxes]) => [colour, ...boxes.map((one) => Math.round(one))]);
  assert.deepEqual(rounded, [
    ["#0072b2", 0, 1, 5, 8],
    ["#d5dbe1", 5, 1, 3, 8],
    ["#0072b2", 2, 11, 4, 8],
    ["#d5dbe1"],
  ]);
});

test("words are black on light colours and white on dark ones", () => {
  assert.deepEqual(["#ffffff", "#f0e442", "#0072b2", "#1b1f24"].map(on), [
    "#000000",
    "#000000",
    "#ffffff",
    "#ffffff",
  ]);
});

test("a recorded sender has a strip in order of time, from its start on", () => {
  const run = new Run(upload({ start: 0.25 }), "one");
  const [made] = stripsOf(run, "#000000");
  const { time, value, measure } = made.series;
  assert.equal(made.row, "flow 0");
  assert.deepEqual([time[0], measure.values[value[0]]], [0.25e9, "handshake"]);
  assert.ok(time.every((moment, at) => at === 0 || moment >= time[at - 1]));
  const seen = new Set([...value].map((limit) => measure.values[limit]));
  assert.ok(
    ["slow start", "loss recovery", "congestion avoidance"].every((name) => seen.has(name)),
    seen,
  );
  const [other] = stripOf(new Run(paths(), "two"), 0, "run 2", "#000000");
  assert.deepEqual([other.row, other.name], ["run 2", "run 2: two"]);
});
