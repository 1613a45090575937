import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as layout from "../../../airflow_provider_spark_operator/plugins/spark_view/static/layout.js";

const RUNS = JSON.parse(readFileSync(new URL("runs.json", import.meta.url), "utf8"));
// The coordinates of core/report/timeline_picture.py.
const PICTURE = { left: 250, right: 930, least: 2 };
const HEIGHT = 80;

const text = ({ lasted, detail }) => `${lasted} ${detail}`.trim();

for (const [name, { record, lanes }] of Object.entries(RUNS)) {
  test(`lanes of the page equal those of the picture: ${name}`, () => {
    const drawn = layout.layOut(record, PICTURE);
    const rows = drawn.groups.flatMap((group) => group.rows);
    assert.deepEqual(drawn.groups.map(({ title }) => title), lanes.groups);
    const parts = drawn.parts.map(({ tone, x, width }) => [layout.PARTS[tone] ?? tone, x, Number(width.toPrecision(6))]);
    assert.deepEqual(parts, lanes.parts);
    assert.equal(drawn.shares.map(({ text: words }) => words).join(", "), lanes.time);
    assert.deepEqual(
      rows.map(({ label, x, width, ...row }) => ({ label, x, width: Number(width.toPrecision(6)), text: text(row) })),
      lanes.bars,
    );
    assert.deepEqual(drawn.ticks.map((tick) => [tick.x, tick.text]), lanes.ticks);
    assert.deepEqual(drawn.marks.map((mark) => [mark.x, mark.text]), lanes.marks);
    assert.equal(!drawn.curve, lanes.curve === null);
    if (drawn.curve) assert.deepEqual(drawCurve(drawn.curve), readCurve(lanes.curve));
  });
}

const drawCurve = ({ steps, last }) => [...steps.map(([x, share]) => [x, (share * HEIGHT).toFixed(1)]), last];

/** Return the corners of a path: M begin bottom, then H x V y for each, then H last V bottom Z. */
function readCurve(path) {
  const bottom = Number(path.split(" ")[1].split("H")[0]);
  const corners = [...path.matchAll(/H([\d.]+)V([\d.]+)/g)].map(([, x, y]) => [Number(x), (bottom - y).toFixed(1)]);
  return [...corners.slice(0, -1), corners.at(-1)[0]];
}

test("of many executors, those that failed come first", () => {
  const { record } = RUNS.restarted;
  const [{ rows }] = layout.layOut({ ...record, executors: record.executors.toReversed() }).groups.slice(-1);
  assert.deepEqual(rows.map(({ tone }) => tone).slice(0, 4), ["failed", "failed", "failed", "executor"]);
});

test("coordinates of the page are percentages", () => {
  const { groups, ticks } = layout.layOut(RUNS.restarted.record, { ticks: 4 });
  for (const { x, width } of groups.flatMap(({ rows }) => rows)) assert.ok(x >= 0 && width > 0 && x + width <= 100.4);
  assert.ok(ticks.length >= 2 && ticks.length <= 4);
});

test("further executors are shown on request", () => {
  const { rows, more } = layout.layOut(RUNS.restarted.record).groups.at(-1);
  assert.deepEqual([rows.length, more.length], [20, 4]);
  assert.ok(more.every(({ x, width }) => x > 0 && width > 0));
});

test("executors have tags of how they were lost", () => {
  const tags = layout.layOut(RUNS.restarted.record).groups.at(-1).rows.map(({ tag }) => tag);
  assert.deepEqual(tags.slice(0, 4), ["OOM", "evicted", "preempted", ""]);
});

test("a lost driver without an exit has the tag of the message of its state", () => {
  const { record: evicted } = RUNS.evicted;
  const readTag = (change) => {
    const [attempt] = evicted.attempts;
    const changed = { ...evicted, attempts: [{ ...attempt, driver: { ...attempt.driver, ...change } }] };
    return layout.layOut(changed).groups[0].rows.at(-1).tag;
  };
  assert.deepEqual([{}, { exit: "exit code 3" }, { state: "Ended" }].map(readTag), ["evicted", "", ""]);
});

const { record } = RUNS.short;
for (const [name, value] of Object.entries({
  "no object": [1], "nothing": null, "a text": "x", "an object without a version": { a: 1 },
  "a later version": { ...record, version: 2 }, "a record without its verdict": { ...record, verdict: undefined },
})) {
  test(`a value that is no record has a sentence: ${name}`, () => assert.match(layout.findProblem(value), /\.$/));
}

test("a record has no problem", () => assert.equal(layout.findProblem(record), ""));

test("a record with malformed members still has lanes", () => {
  const odd = { ...record, begin: 5, end: "never", attempts: [null, 3, { states: [{ begin: "x" }, "y"] }],
    executors: "no", executorCounts: [["x", 1], 4], marks: [{ time: null }] };
  assert.deepEqual(layout.layOut(odd).groups, []);
  assert.equal(layout.layOut({ ...odd, attempts: { a: 1 } }).curve, false);
});

test("lanes of a live run last until now, and those of another run do not", () => {
  const { record: live } = RUNS.live;
  const now = layout.readTime(live.end) + 60_000;
  assert.equal(layout.layOut(live, { now }).end, now);
  assert.equal(layout.layOut(live, { now: 0 }).end, layout.readTime(live.end), "the clock of the browser is behind");
  assert.equal(layout.layOut(layout.endRecord(live), { now }).end, layout.readTime(live.end));
});
