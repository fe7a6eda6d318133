import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";
import { edited, upload } from "./recorded.mjs";

const { Run, between } = await load("view/run.ts");
const { firstByte, lanesOf, lastByte } = await load("view/lanes.ts");
const { waits } = await load("view/panels/lanes.ts");
const { slopes, view } = await load("drawing/lod.ts");
const { Pyramid } = await load("drawing/pyramid.ts");
const { Vertical } = await load("drawing/vertical.ts");
const { framesInWords } = await load("view/packet.ts");

/** Two objects that arrived on two connections of one visit, and a stream of another flow. */
const streams = {
  count: 3,
  flow: Uint32Array.of(0, 1, 2),
  visit: Uint32Array.of(0, 0, 2),
  number: Float64Array.of(0, 1, 8),
  kind: Uint8Array.of(2, 2, 0),
  asked: Float64Array.of(10, 20, Number.NaN),
  size: Float64Array.of(300, 500, Number.NaN),
  points: Uint32Array.of(0, 3, 5, 7),
  time: Float64Array.of(50, 60, 70, 80, 90, 100, 200),
  read: Float64Array.of(0, 100, 300, 100, 200, 400, 700),
  waiting: Float64Array.of(200, 200, 0, 0, 100, 0, 0),
};

const run = () => {
  const made = new Run(upload({ seconds: 1, start: 2 }), "lanes");
  made.recording.header.end_ns = 1000;
  made.recording.streams = streams;
  return made;
};

test("objects of a visit are lanes, whichever connection they came by", () => {
  for (const number of [0, 1]) {
    const lanes = lanesOf(run().recording, number, true);
    assert.deepEqual(
      lanes.map(({ name, asked }) => [name, asked]),
      [
        ["0", 10],
        ["1", 20],
      ],
    );
    assert.deepEqual([firstByte(lanes[0]), lastByte(lanes[0])], [60, 70]);
    assert.deepEqual([firstByte(lanes[1]), lastByte(lanes[1])], [80, Number.NaN]);
    assert.deepEqual([...lanes[0].spans], [50, 70]);
    assert.deepEqual([...lanes[1].spans], [90, 1000], "what still waits waits until the end");
  }
  assert.equal(lanesOf(run().recording, 0, false).length, 0);
  const [stream] = lanesOf(run().recording, 2, false);
  assert.deepEqual([stream.name, stream.size, lastByte(stream)], ["8", 700, 200]);
});

test("a recording of an earlier version has no streams and no numbers of captures", () => {
  const unknown = {
    '"stream.': '"former.',
    '"packet.sent': '"packet.once',
    '"packet.arrived': '"packet.entered',
  };
  const old = Object.entries(unknown).reduce((file, names) => edited(file, ...names), upload());
  const { recording } = new Run(old, "old");
  assert.equal(recording.streams.count, 0);
  assert.equal(framesInWords(recording.packets, recording.header, 0), "");
  assert.deepEqual(lanesOf(recording, 0, true), []);
});

test("streams whose columns do not fit each other are refused in words", () => {
  const cut = edited(upload(), /("stream\.size":\{"type":"f64","at":\d+,"count":)1/g, "$17");
  assert.throws(() => new Run(cut, ""), /stream\.size has 7 elements, not 1/);
});

test("numbers in captures name the interface", () => {
  const at = (...numbers) => Uint32Array.of(...numbers);
  const packets = { sent: at(7, 0), sentAt: at(0, 0), arrived: at(5, 9), arrivedAt: at(1, 1) };
  const inWords = (packet) => framesInWords(packets, { interfaces: ["a.1", "b.1"] }, packet);
  assert.deepEqual([inWords(0), inWords(1)], ["7 at a.1, 5 at b.1", "9 at b.1"]);
});

const box = { left: 0, top: 0, width: 100, height: 100 };

test("spans closer together than a pixel are one box, and others stay apart", () => {
  const shown = view(0, 1000, 0, 1, box);
  assert.deepEqual(waits(Float64Array.of(0, 100, 105, 200, 500, 600), shown, 2, 8), [
    ...[0, 2, 20, 8],
    ...[50, 2, 10, 8],
  ]);
  const zoomed = view(50, 150, 0, 1, box);
  assert.deepEqual(waits(Float64Array.of(0, 100, 105, 200), zoomed, 0, 1), [0, 0, 50, 1, 55, 0, 45, 1]);
});

test("a measure of lines is read and drawn between its points", () => {
  const time = Float64Array.of(0, 10, 10, 20);
  const value = Float64Array.of(8, 4, 8, 0);
  assert.deepEqual(
    [5, 10, 15, 20, 21, -1].map((moment) => between(time, value, moment)),
    [6, 8, 4, 0, Number.NaN, Number.NaN],
  );
  const points = slopes(time, value, new Pyramid(value), view(5, 15, 0, 10, { ...box, width: 10 }));
  assert.deepEqual(points, [-5, 20, 5, 60, 5, 20, 15, 100]);
});

test("a vertical range follows what fits until a part is chosen", () => {
  let draws = 0;
  const vertical = new Vertical(() => draws++);
  vertical.suits([0, 100]);
  assert.deepEqual(vertical.range, [0, 100]);
  vertical.choose(0.75, 0.25);
  assert.deepEqual(vertical.range, [25, 75]);
  vertical.suits([0, 400]);
  assert.deepEqual([vertical.range, vertical.isChosen], [[25, 75], true]);
  vertical.pan(0.5);
  assert.deepEqual(vertical.range, [50, 100]);
  vertical.zoom(0.5, 1);
  assert.deepEqual(vertical.range, [75, 100], "about the top");
  vertical.zoom(100);
  assert.deepEqual([vertical.range, vertical.isChosen], [[0, 400], false]);
  vertical.pan(1);
  assert.deepEqual(vertical.range, [0, 400], "what is whole does not move");
  for (let step = 0; step < 100; step++) vertical.zoom(0.5);
  assert.ok(vertical.range[1] - vertical.range[0] >= 400e-6 * 0.99);
  assert.equal(draws, 104);
});
