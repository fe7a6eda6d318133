import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { edge, place, range, sums } = await load("explore/binning.ts");
const { domain } = await load("explore/scales.ts");
const { title, told } = await load("explore/columns.ts");
const { Latest } = await load("explore/server.ts");
const { read, written } = await load("explore/state.ts");
const { integer } = await load("format.ts");

const STATE = {
  table: "flows",
  part: "main",
  kind: "mean",
  x: "rate",
  y: "goodput_bps",
  z: null,
  color: null,
  facet: null,
  logX: false,
  logY: true,
  filters: [
    { column: 'a "b" #%<c>', values: ["x", null, 1, true] },
    { column: "rtt_s", low: 0.5 },
  ],
  strips: [{ column: "rtt_s", log: true }],
};

test("a link restores the state, whatever its names hold", () => {
  const blank = { ...STATE, filters: [], strips: [], kind: "box", x: null };
  assert.deepEqual(read(written(STATE), blank), STATE);
  assert.ok(!/[\s"<>]/.test(encodeURI(written(STATE)).replaceAll("%22", "")));
});

test("a broken or hostile link changes nothing that it does not say rightly", () => {
  for (const text of [
    "",
    "%",
    "{",
    "[]",
    "null",
    '"x"',
    '{"kind":"drop","table":"users","filters":[1,{"column":2}],"logX":"yes","x":{}}',
  ])
    assert.deepEqual({ ...read(encodeURIComponent(text), STATE), filters: [] }, { ...STATE, filters: [] });
});

test("bins meet at their edges, and a whole domain limits nothing", () => {
  for (const log of [false, true]) {
    const bins = { low: 1, high: 10_000, bins: 50, log };
    for (let n = 0; n <= 50; n++) assert.ok(Math.abs(place(bins, edge(bins, n)) - n) < 1e-9);
    assert.deepEqual(range("x", bins, 0, 50), { column: "x" });
    assert.deepEqual(range("x", bins, 0, 10), { column: "x", high: edge(bins, 10) });
  }
});

test("a range of a cube is the sum of its bins", () => {
  const counted = { results: ["", "", "", ""], v: ["a", "b", "a", "a"], n: [1, 2, 4, 8], a: [0, 1, 2, null] };
  assert.deepEqual(
    [...sums(counted, 0, 3)],
    [
      ["a", 5],
      ["b", 2],
    ],
  );
  assert.deepEqual([...sums(counted, 1, 2)], [["b", 2]]);
});

test("numbers have prefixes and units", () => {
  assert.deepEqual(
    [
      told(9.65e9, "goodput_bps"),
      told(0.0468, "rtt_s"),
      told(1500, "x_s"),
      told(0, "x_s"),
      told(0.985),
      told(null),
      told(NaN),
    ],
    ["9.65 Gbit/s", "46.8 ms", "1500 s", "0 s", "0.985", "–", "–"],
  );
  assert.equal(title("links.queue_delay_mean_s"), "queue delay mean (run’s mean of links) [s]");
  assert.equal(integer(1234567), "1\u202f234\u202f567");
});

test("labels stand in the order of the study, numbers by size", () => {
  assert.deepEqual(domain(["b", "c", "a", "b"], "f", { order: () => ["c", "b", "a"] }), ["c", "b", "a"]);
  assert.deepEqual(domain([10, 9, 1], "f", { order: () => [] }), [1, 9, 10]);
});

test("of questions that come too fast only the last one is asked", async () => {
  const asked = [];
  const latest = new Latest();
  for (let n = 0; n < 10; n++)
    latest.run(async () => {
      asked.push(n);
      await new Promise((done) => setTimeout(done, 1));
    });
  await new Promise((done) => setTimeout(done, 30));
  assert.deepEqual(asked, [0, 9]);
});

test("names at an axis stay in the picture, however long and at whatever angle", async () => {
  const { roomOf, longest, shortened } = await load("explore/scales.ts");
  const letter = 6.6;
  const names = ["cubic", "a congestion control with a very long name of its own"];
  assert.equal(shortened("cubic"), "cubic");
  assert.equal(shortened(names[1]).length, 26);
  assert.match(shortened(names[1]), /^a congestion control with…$/);
  const wide = longest(names);
  assert.equal(wide, 26 * letter);
  // A label that ends below the middle of its band extends down and left by its length at that angle.
  for (const [turned, down, left] of [
    [-90, wide, 0],
    [-40, wide * Math.sin((40 * Math.PI) / 180), wide * Math.cos((40 * Math.PI) / 180)],
    [0, 0, wide / 2],
  ]) {
    const room = roomOf(wide, turned, 0);
    assert.ok(room.below >= down + 20, `${turned}: ${room.below}`);
    assert.ok(room.left >= left, `${turned}: ${room.left}`);
  }
});
