import assert from "node:assert/strict";
import test from "node:test";
import { encode } from "../tools/recording.mjs";
import { synthetic } from "../tools/synthetic.mjs";
import { load } from "./load.mjs";

const { Run } = await load("view/run.ts");
const { firstDifference, differenceInWords } = await load("view/difference.ts");

const buffer = (options) => synthetic(options).buffer;
const short = { seconds: 1.5 };

test("a recording is read as it was written", () => {
  const { recording } = new Run(buffer(short), "one");
  const { packets, header } = recording;
  assert.equal(packets.count, header.packets.kept);
  assert.ok(packets.time.every((time, at) => at === 0 || time >= packets.time[at - 1]));
  assert.equal(packets.from[0], 0);
  assert.ok(recording.series.every(({ time }) => time.every((one, at) => at === 0 || one >= time[at - 1])));
});

test("what is no recording is refused in words", () => {
  assert.throws(() => new Run(new ArrayBuffer(4), ""), /no recording/);
  const whole = buffer(short);
  assert.throws(() => new Run(whole.slice(0, 40), ""), /ends within its header/);
  assert.throws(() => new Run(whole.slice(0, whole.byteLength - 4096), ""), /cut short/);
  const later = whole.slice(0);
  new DataView(later).setUint32(8, 2, true);
  assert.throws(() => new Run(later, ""), /version 2/);
});

test("the legs of a packet's way join, and its waits explain its time", () => {
  const run = new Run(buffer(short), "one");
  const { packets } = run.recording;
  for (let packet = 0; packet < packets.count; packet += 7) {
    const legs = run.journeys.legs(packet);
    if (packets.fate[packet] === 1) {
      assert.equal(legs.length, 2);
      assert.equal(legs.at(-1).arrived, packets.gone[packet]);
      const moving = legs.reduce(
        (sum, leg) => sum + run.journeys.transit(leg.link, packets.size[packet]) + leg.wait,
        0,
      );
      assert.ok(Math.abs(packets.time[packet] + moving - packets.gone[packet]) < 1);
    }
    if (packets.fate[packet] === 2) assert.ok(Number.isNaN(legs.at(-1).arrived));
  }
});

test("a sequence holds all data, each retransmission by its reason", () => {
  const run = new Run(buffer(short), "one");
  const { bars, drops, acks } = run.sequence(0, -1);
  const { packets } = run.recording;
  const data = packets.kind.filter((kind) => kind & 1).length;
  assert.equal(
    bars.reduce((sum, { packet }) => sum + packet.length, 0),
    data,
  );
  assert.ok(bars.some(({ reason }) => reason === 1));
  assert.equal(drops.packet.length, packets.fate.filter((fate) => fate >= 2).length);
  assert.equal(acks.length, 1);
  assert.ok(acks[0].ack.value.every((value, at) => at === 0 || value >= acks[0].ack.value[at - 1]));
});

test("paths acknowledge apart", () => {
  const run = new Run(buffer({ ...short, kind: "paths" }), "two");
  assert.deepEqual(run.paths(0), [0, 1]);
  assert.equal(run.sequence(0, -1).acks.length, 2);
  assert.equal(run.sequence(0, 1).acks.length, 1);
});

test("the first difference is the earliest packet that is not the same", () => {
  const [one, same, other] = [short, short, { ...short, extra: 4 }].map(
    (given) => new Run(buffer(given), "").recording,
  );
  assert.equal(firstDifference(one, same), null);
  const found = firstDifference(one, other);
  for (let packet = 0; packet < found.here; packet++) {
    if (one.packets.time[packet] >= found.time) break;
    assert.equal(one.packets.time[packet], other.packets.time[packet]);
    assert.ok(Object.is(one.packets.from[packet], other.packets.from[packet]));
  }
  assert.match(
    differenceInWords(found, one, other, ["A", "B"]),
    /^First difference: client’s packet \d+\. A at .+\. B at /,
  );
});

test("a run that ends earlier differs where it ends", () => {
  const [long, brief] = [{ seconds: 1 }, { seconds: 0.5 }].map(
    (given) => new Run(buffer(given), "").recording,
  );
  const found = firstDifference(long, brief);
  assert.equal(found.there, null);
  assert.match(differenceInWords(found, long, brief, ["A", "B"]), /B sends no such packet/);
});

test("a run in which nothing was sent is a run", () => {
  const header = { run_id: "", name: "", engine: "", end_ns: 1e9, packets: { kept: 0, all: 0 } };
  const lists = { flows: [], links: [], measures: [], series: [], states: [], reasons: [] };
  const run = new Run(encode({ ...header, ...lists }, { text: new Uint8Array(0) }).buffer, "none");
  assert.equal(run.recording.packets.count, 0);
  assert.deepEqual(run.paths(0), []);
  assert.equal(run.sequence(0, -1).bars.length, 0);
  assert.equal(run.end, 1e9);
});
