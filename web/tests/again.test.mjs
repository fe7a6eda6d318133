import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const CONTENT = {
  figures: {
    speed: {
      columns: ["x", "control"],
      marks: [
        [[1e6, "reno"], "1 Mbit/s · reno", [0, 1], 2],
        [[1e6, "cubic"], "1 Mbit/s · cubic", [2], 1],
      ],
    },
  },
  runs: [
    ["aa", 0, 5, 917, [1e6]],
    ["ab", 0, 6, 918, [2e6]],
    ["ba", 1, 5, null, [null]],
  ],
  cells: [
    { levels: "control reno", text: 0, set: [0, 1], needs: "" },
    { levels: "control cubic", text: 1, set: [0, 2], needs: "file" },
  ],
  settings: [
    ["until", "2 s"],
    ["flow.0.transport.cc", "reno"],
    ["flow.0.transport.cc", { kind: "cubic", beta: 0.6 }],
  ],
  texts: ["one", "two"],
};

test("a datum finds its mark by all columns of the figure, and a mark of the original none", async () => {
  const { markOf } = await load("again/content.ts");
  const { speed } = CONTENT.figures;
  assert.equal(markOf(speed, { x: 1e6, control: "cubic", y: 3 }), 1);
  assert.equal(markOf(speed, { x: 2e6, control: "cubic" }), -1);
  assert.equal(markOf(speed, { x: 1e6 }), -1);
  assert.equal(markOf(speed, { x: 1e6, control: "cubic", mark: "reported" }), -1);
  assert.equal(markOf(speed, { x: 1e6, control: "cubic", mark: "outlier" }), 1);
});

test("a run is asked for with the settings of its combination, in their order, under its seed", async () => {
  const { requestOf, runOf } = await load("again/content.ts");
  const { toml, table, overrides, seed } = requestOf(CONTENT, 2);
  assert.deepEqual([toml, table, seed], ["two", "scenario", 5]);
  assert.deepEqual(overrides, [CONTENT.settings[0], CONTENT.settings[2]]);
  assert.deepEqual(runOf(CONTENT, 1), {
    id: "ab",
    levels: "control reno",
    seed: 6,
    needs: "",
    events: 918,
    goodputs: [2e6],
  });
});
