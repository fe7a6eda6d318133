import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";
import { paths, upload } from "./recorded.mjs";

const { Run } = await load("view/run.ts");
const { firstDifference, differenceInWords, sameInWords, TOLERANCE } = await load("view/difference.ts");
const { view } = await load("drawing/lod.ts");
const { RatesPanel } = await load("view/panels/rates.ts");
const { SequencePanel } = await load("view/panels/sequence.ts");

test("a recording is read as it was written", () => {
  const { recording } = new Run(upload(), "one");
  const { packets, header } = recording;
  assert.equal(packets.count, header.packets.kept);
  assert.ok(packets.time.every((time, at) => at === 0 || time >= packets.time[at - 1]));
  assert.equal(packets.from[packets.kind.findIndex((kind) => kind & 1)], 0);
  assert.ok(recording.series.every(({ time }) => time.every((one, at) => at === 0 || one >= time[at - 1])));
});

test("what is no recording is refused in words", () => {
  assert.throws(() => new Run(new ArrayBuffer(4), ""), /no recording/);
  const whole = upload();
  assert.throws(() => new Run(whole.slice(0, 40), ""), /ends within its header/);
  assert.throws(() => new Run(whole.slice(0, whole.byteLength - 4096), ""), /cut short/);
  const later = whole.slice(0);
  new DataView(later).setUint32(8, 2, true);
  assert.throws(() => new Run(later, ""), /version 2/);
});

test("the legs of a packet's way join, and its waits explain its time", () => {
  const run = new Run(upload(), "one");
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
  const run = new Run(upload(), "one");
  const { bars, drops, acks } = run.sequence(0, -1);
  const { packets } = run.recording;
  const data = packets.kind.filter((kind) => kind & 1).length;
  assert.equal(
    bars.reduce((sum, { packet }) => sum + packet.length, 0),
    data,
  );
  const again = run.recording.header.reasons.indexOf("fast recovery");
  assert.ok(bars.some(({ reason }) => reason === again));
  assert.equal(drops.packet.length, packets.fate.filter((fate) => fate >= 2).length);
  assert.equal(acks.length, 1);
  assert.ok(acks[0].ack.value.every((value, at) => at === 0 || value >= acks[0].ack.value[at - 1]));
});

test("paths acknowledge apart", () => {
  const run = new Run(paths(), "two");
  assert.deepEqual(run.paths(0), [0, 1]);
  assert.equal(run.sequence(0, -1).acks.length, 2);
  assert.equal(run.sequence(0, 1).acks.length, 1);
});

test("the first difference is the earliest packet that is not the same", () => {
  const [one, same, other] = [{}, {}, { cc: "scalable" }].map(
    (given) => new Run(upload(given), "").recording,
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
    (given) => new Run(upload(given), "").recording,
  );
  const found = firstDifference(long, brief);
  assert.equal(found.there, null);
  assert.match(differenceInWords(found, long, brief, ["A", "B"]), /B sends no such packet/);
});

/** Recording of the same run with every packet `by` nanoseconds later. */
const later = (by) => {
  const { recording } = new Run(upload(), "");
  for (const [at, time] of recording.packets.time.entries()) recording.packets.time[at] = time + by;
  return recording;
};

test("packets a little apart are the same, as in vazao compare", () => {
  const { recording } = new Run(upload(), "");
  // SYNs of two stacks were 741 ns apart; docs/compare.md documents 1 ms.
  assert.equal(TOLERANCE, 1e6);
  for (const by of [741, TOLERANCE]) assert.equal(firstDifference(recording, later(by)), null);
  assert.equal(firstDifference(recording, later(TOLERANCE + 1)).nth, 0);
  assert.match(sameInWords([recording, recording]), /all packets of these runs are the same, .* 1 ms apart/);
});

test("packets of which nothing could be read differ by time, or by being full", () => {
  const [ours, sealed, late] = [later(0), later(0), later(2 * TOLERANCE)];
  for (const { header } of [ours, late]) for (const flow of header.flows) flow.full = 1228;
  sealed.packets.kind.fill(0);
  sealed.packets.from.fill(Number.NaN);
  const { size } = sealed.packets;
  for (const [at, bytes] of size.entries()) size[at] = bytes - 3;
  assert.equal(firstDifference(ours, sealed), null);
  assert.equal(firstDifference(late, sealed).nth, 0);
  // A probe in place of data, as in docs/compare.md.
  const full = size.findLastIndex((bytes) => bytes > 1228);
  size[full] = 60;
  assert.equal(firstDifference(ours, sealed).here, full);
});

/** A truncated run: only its first packets were kept, and it went on for as long again. */
const cut = () => {
  const run = new Run(upload(), "");
  const { header, packets } = run.recording;
  header.packets = { kept: packets.count, all: 2 * packets.count };
  header.end_ns *= 2;
  return run;
};

test("where a run was cut no difference is claimed", () => {
  const brief = new Run(upload({ seconds: 0.5 }), "").recording;
  const { recording } = new Run(upload({ seconds: 1 }), "");
  assert.notEqual(firstDifference(brief, recording), null);
  brief.header.packets.all += 1;
  assert.equal(firstDifference(brief, recording), null);
  assert.match(sameInWords([brief, recording]), /all packets that were kept of these runs/);
});

/** Latest time to which a panel draws a line, for a run that is shown from its start to its end. */
function furthest(Panel, run) {
  const theme = { lines: ["a", "b", "c", "d", "e"], data: ["d"], again: ["r"], runs: ["o"] };
  const axis = { lo: 0, hi: run.end, span: run.end };
  const model = { runs: [run], axis, flow: 0, path: -1, lead: 0, selected: null, difference: null, theme };
  const panel = new Panel(model);
  const [least, greatest] = panel.fit(0, run.end, 1000);
  const box = { left: 0, top: 0, width: 1000, height: 300 };
  let most = 0;
  const nothing = () => {};
  const line = (_colour, _width, points) => {
    for (let at = 0; at < points.length; at += 2) most = Math.max(most, points[at]);
  };
  panel.paint(
    { line, segments: nothing, rects: nothing, dots: nothing, text: nothing },
    view(0, run.end, least, greatest, box),
  );
  return (most / 1000) * run.end;
}

test("a run that was cut has no lines where its packets were not kept", () => {
  for (const Panel of [SequencePanel, RatesPanel]) {
    const run = cut();
    // Only rates from packets are of interest here: the run's own series cover all of it.
    run.recording.series = run.recording.series.filter(
      ({ measure }) => !/delivered|pacing/.test(measure.name),
    );
    assert.ok(run.isCut && run.known < 0.55 * run.end);
    assert.ok(furthest(Panel, run) <= run.known, Panel.name);
    assert.ok(furthest(Panel, run) > 0.9 * run.known, Panel.name);
    const whole = new Run(upload(), "");
    assert.ok(furthest(Panel, whole) > 0.99 * whole.end, Panel.name);
  }
});

test("a run in which nothing was sent is a run", () => {
  const run = new Run(upload({ seconds: 1, start: 2 }), "none");
  assert.equal(run.recording.packets.count, 0);
  assert.deepEqual(run.paths(0), []);
  assert.equal(run.sequence(0, -1).bars.length, 0);
  assert.equal(run.end, 1e9);
});
