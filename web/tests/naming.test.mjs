import assert from "node:assert/strict";
import test from "node:test";
import { load } from "./load.mjs";

const { apart } = await load("view/naming.ts");

test("runs over each other are named by their differences", () => {
  assert.deepEqual(apart(["cc bbr, path wifi, seed 1", "cc reno, path wifi, seed 1"]), {
    common: "path wifi, seed 1",
    own: ["cc bbr", "cc reno"],
  });
});

test("a name that has nothing of its own stays whole", () => {
  for (const names of [["wifi", "wifi, seed 2"], ["alone, seed 1"], []])
    assert.deepEqual(apart(names), { common: "", own: names });
});
