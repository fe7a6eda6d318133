// The record of a lesson's answers: its entries, and the files that a lecturer collects.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

// Stub of the page's elements, which the record creates before it is shown.
globalThis.document = {
  createElement: () => ({ setAttribute() {}, addEventListener() {}, append() {} }),
};
globalThis.Node = class {};

const { Answers, cell } = await load("play/record.ts");
const { columnsOf } = await load("play/lessons.ts");
const { named } = await load("play/table.ts");

const question = { kind: "number", ask: 'How "late", in ms?', answer: 31, tolerance: 4, why: "so" };
const lesson = {
  name: "mine.toml",
  title: "Mine",
  about: "queues",
  steps: [
    { title: "One", text: "", question },
    { title: "Two", text: "" },
  ],
};

const filled = () => {
  const answers = new Answers();
  answers.begin(lesson);
  const at = new Date("2026-01-02T03:04:05Z");
  answers.note(0, "90", false, at);
  answers.note(0, "90", false, at);
  answers.note(0, "31", true, at);
  answers.note(1, "no question", true, at);
  return answers;
};

test("each try is noted once, with its number and its time", () => {
  const { given } = filled();
  assert.deepEqual(
    given.map(({ step, answer, right, attempt, at }) => [step, answer, right, attempt, at]),
    [
      [1, "90", false, 1, "2026-01-02T03:04:05.000Z"],
      [1, "31", true, 2, "2026-01-02T03:04:05.000Z"],
    ],
  );
});

test("the files say the same: JSON, and CSV as RFC 4180 has it", () => {
  const answers = filled();
  const parsed = JSON.parse(answers.json());
  assert.equal(parsed.lesson, "mine.toml");
  assert.deepEqual(parsed.answers, answers.given);
  const [head, first, second, end] = answers.csv().split("\r\n");
  assert.equal(head, "name,lesson,step,title,question,answer,right,attempt,at");
  assert.equal(first, ',mine.toml,1,One,"How ""late"", in ms?",90,false,1,2026-01-02T03:04:05.000Z');
  assert.match(second, /,31,true,2,/);
  assert.equal(end, "");
});

test("another lesson begins another record", () => {
  const answers = filled();
  answers.begin(lesson);
  assert.equal(answers.given.length, 2);
  answers.begin({ ...lesson, name: "other" });
  assert.equal(answers.given.length, 0);
});

test("no answer is a formula to whoever opens the file", () => {
  for (const text of ['=HYPERLINK("http://x")', "+1+1", "-2", "@SUM(A1)", "\tx"]) {
    assert.match(cell(text), /^"?'/, text);
  }
  for (const [value, expected] of [
    [31, "31"],
    [-2, "-2"],
    ["a\nb", '"a\nb"'],
    ["a,b", '"a,b"'],
  ])
    assert.equal(cell(value), expected);
});

test("a question's columns are those that its answer follows from", () => {
  assert.deepEqual(columnsOf({ ...question, of: "flows[1].owd_p50_s * 1000" }), ["owd_p50_s"]);
  assert.deepEqual(
    columnsOf({ kind: "goal", until: "flows[0].rtt_p95_s < 0.1 and links[0].utilisation > 0.9" }),
    ["rtt_p95_s"],
  );
  assert.deepEqual(
    columnsOf({ kind: "choice", where: ["flows[1].owd_p50_s < 0.04", "flows[1].owd_p50_s > 1"] }),
    ["owd_p50_s"],
  );
  assert.deepEqual(columnsOf({ kind: "choice", options: ["a", "b"] }), []);
});

test("a column has its title and its unit", () => {
  assert.deepEqual(
    [named("owd_p50_s").title, named("owd_p50_s").say(0.0312)],
    ["One-way delay, median", "31.2 ms"],
  );
  assert.deepEqual([named("recoveries").title, named("recoveries").say(3)], ["Recoveries", "3"]);
  assert.equal(named("throughput_bps").say(9.5e6), "9.5 Mbit/s");
});
