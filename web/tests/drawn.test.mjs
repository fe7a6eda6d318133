// Networks drawn by hand: each change of the document, and conversion of a built-in topology.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const TEXT = `
[network]
topology = "custom"
hosts = ["a", "b", "c"]
routers = ["R1"]
link = [{ from = "a", to = "R1", rate = "1 Mbps" }, { name = "last", from = "R1", to = "b", delay = "2 ms" }]
[[flow]]
client = "a"
server = "b.1"
count = 3
app = "upload"
[[flow]]
client = "c"
server = "a"
app = "download"
`;

const opened = async () => {
  const [drawn, { read }] = [await load("play/drawn.ts"), await load("play/toml.ts")];
  return { ...drawn, doc: read(TEXT).doc, plain: (value) => JSON.parse(JSON.stringify(value)) };
};

test("nodes and links are read in their order", async () => {
  const { nodes, wires, isDrawn, doc } = await opened();
  assert.ok(isDrawn(doc) && !isDrawn({ network: { topology: "dumbbell" } }) && !isDrawn(null));
  assert.deepEqual(
    nodes(doc).map(({ name, kind }) => `${kind} ${name}`),
    ["host a", "host b", "host c", "router R1"],
  );
  assert.deepEqual(
    wires(doc).map(({ name, from, to, rate, delay }) => [name, from, to, rate, delay]),
    [
      ["a-R1", "a", "R1", "1 Mbps", ""],
      ["last", "R1", "b", "varies", "2 ms"],
    ],
  );
});

test("nodes get names that nobody bears, links as many between two nodes as are wanted", async () => {
  const { added, joined, wires, doc } = await opened();
  const [more, name] = added(doc, "router");
  assert.deepEqual([name, more.network.routers], ["R2", ["R1", "R2"]]);
  const [most, host] = added(more, "host");
  assert.deepEqual([host, most.network.hosts], ["h1", ["a", "b", "c", "h1"]]);
  const twice = joined(joined(doc, "c", "R1"), "c", "R1");
  assert.deepEqual(
    wires(twice)
      .map((wire) => wire.name)
      .slice(2),
    ["c-R1", "c-R1-1"],
  );
  assert.equal(wires(doc).length, 2, "the document before stays as it was");
});

test("with a node go its links and its flows", async () => {
  const { removed, cut, wires, doc } = await opened();
  const without = removed(doc, "b");
  assert.deepEqual(
    wires(without).map(({ name }) => name),
    ["a-R1"],
  );
  assert.deepEqual(
    without.flow.map(({ client }) => client),
    ["c"],
  );
  assert.deepEqual(
    wires(cut(doc, "last")).map(({ name }) => name),
    ["a-R1"],
  );
});

test("a name changes wherever it stands, with the number of its interface", async () => {
  const { renamed, doc, plain } = await opened();
  const { network, flow } = plain(renamed(doc, "b", "server"));
  assert.deepEqual(network.hosts, ["a", "server", "c"]);
  assert.equal(network.link[1].to, "server");
  assert.equal(flow[0].server, "server.1");
});

test("a flow is like the last one, and one alone", async () => {
  const { flowed, doc, plain } = await opened();
  assert.deepEqual(plain(flowed(doc, "b", "c")).flow.at(-1), { app: "download", client: "b", server: "c" });
});

test("a built-in topology becomes the same network", async () => {
  const { asDrawing, plain } = await opened();
  const doc = { network: { topology: "dumbbell", pairs: 1 }, flow: [{ app: "upload" }] };
  const link = (name, from, to, described) => ({ name, from, to, described, rate: "1 Gbps", delay: "5 us" });
  const links = [
    link("bottleneck", "R1", "R2", { rate: "10 Mbps", queue: "codel" }),
    link("left1", "left1", "R1", undefined),
    link("R2-right1", "R2", "right1", undefined),
  ];
  const kinds = { R1: "router", R2: "router", left1: "host", right1: "host" };
  const nodes = Object.entries(kinds).map(([name, kind]) => ({ name, kind }));
  assert.deepEqual(plain(asDrawing(doc, "custom", nodes, links, [["left1", "right1"]])), {
    network: {
      topology: "custom",
      hosts: ["left1", "right1"],
      routers: ["R1", "R2"],
      link: [
        { name: "bottleneck", from: "R1", to: "R2", rate: "10 Mbps", queue: "codel" },
        { name: "left1", from: "left1", to: "R1", rate: "1 Gbps", delay: "5 us" },
        { from: "R2", to: "right1", rate: "1 Gbps", delay: "5 us" },
      ],
    },
    flow: [{ app: "upload", client: "left1", server: "right1" }],
  });
});
