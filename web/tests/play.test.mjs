// The laboratory's documents, quantities and expressions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const TEXT = `
name = "a \\"quoted\\" name"
until = "10 s"
[network]
topology = "multipath"
path = [{ rate = "10 Mbps", delay = "1 ms", loss = 1e-7 }, { rate = "5 Mbps", queue = "codel" }]
[[flow]]
app = "upload"
transport = "tcp"
[[flow]]
app = { kind = "page", objects = 3 }
`;

test("a document that is read, changed and written is the same document", async () => {
  const { read, write, set, get, keyOf } = await load("play/toml.ts");
  const { doc } = read(TEXT);
  assert.deepEqual(read(write(doc)).doc, doc);
  const usual = { transport: { name: "tcp" }, queue: { name: "drop-tail", plain: "limit" } };
  const change = (key, value) => set(doc, keyOf(key), value, { usual: (key) => usual[key] });
  change("flow.0.transport.cc", "bbr");
  change("network.path.1.queue.target", "3 ms");
  change("flow.1.transport.cc.beta", 0.5);
  change("until", undefined);
  // Tables from the TOML parser have no prototype.
  const again = structuredClone(read(write(doc)).doc);
  assert.deepEqual(again.flow[0].transport, { kind: "tcp", cc: "bbr" });
  assert.deepEqual(again.network.path[1].queue, { kind: "codel", target: "3 ms" });
  assert.deepEqual(again.flow[1].transport, { kind: "tcp", cc: { beta: 0.5 } });
  assert.equal(again.until, undefined);
  assert.equal(get(doc, keyOf("flow.0.app.kind")), "upload");
});

test("a text that is no TOML is told with its line", async () => {
  const { read } = await load("play/toml.ts");
  assert.equal(read('a = 1\nb = "').fault.line, 2);
});

test("quantities are read and written with their units", async () => {
  const { parse, write } = await load("play/units.ts");
  assert.deepEqual(parse("1.5 Mbps", "rate"), { value: 1.5e6, unit: "Mbps" });
  assert.deepEqual(parse("2 Mbit/s", "rate"), { value: 2e6, unit: "Mbps" });
  assert.equal(parse("5 packets", "size"), null);
  assert.equal(parse("5", "rate"), null);
  assert.equal(write(1.5e6, "rate"), "1.5 Mbps");
  assert.equal(write(0, "duration"), "0 ms");
  assert.equal(write(0.25, "duration"), "250 ms");
  assert.equal(write(0.5, "limit", "bdp"), "0.5 bdp");
  assert.equal(write(64000, "limit", "kB"), "64 kB");
  assert.equal(write(0.02, "limit", "ms"), "20 ms");
});

test("expressions ask for columns of this result and of the other", async () => {
  const { ask, filled } = await load("play/ask.ts");
  const now = { flows: { goodput_bps: [4e6, 2e6], completion_s: [null, 3] } };
  const then = { flows: { goodput_bps: [1e6] } };
  assert.equal(ask("flows[0].goodput_bps / 1e6", now), 4);
  assert.equal(ask("2 + 3 * -4 - 1", now), -11);
  assert.equal(ask("flows[0].goodput_bps > 3e6 and flows[1].goodput_bps < 3e6", now), 1);
  assert.equal(ask("abs(flows[1].goodput_bps - pinned.flows[0].goodput_bps) == 1e6", now, then), 1);
  assert.equal(ask("not flows[0].completion_s < 5", now), 1);
  assert.equal(ask("max(1, flows[1].completion_s) <= 3 or 0", now), 1);
  assert.throws(() => ask("flows[0].goodput_bps; alert(1)", now));
  assert.equal(filled("{flows[0].goodput_bps / 1e6:.2f} and {flows[0].completion_s:.0f}", now), "4.00 and …");
});
