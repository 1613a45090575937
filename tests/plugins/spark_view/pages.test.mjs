import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { startBrowser } from "./browser.mjs";

const STATIC = "../../../airflow_provider_spark_operator/plugins/spark_view/static";
const RUNS = JSON.parse(readFileSync(new URL("runs.json", import.meta.url), "utf8"));
const { showRun } = await import(`${STATIC}/run.js`);
const { showRuns } = await import(`${STATIC}/runs.js`);
const TASK = { dag: "sales", run: "r1", task: "load", index: -1 };
const ENTRY = { dag_id: "sales", run_id: "r1", task_id: "load", map_index: -1, timestamp: "1" };
const INSTANCE = { dag_id: "sales", dag_run_id: "r1", task_id: "load", map_index: -1 };
const LIVE = { ...RUNS.live.record, begin: "2026-11-27T10:00:00Z", end: "2026-11-27T11:00:00Z" };
const ENDED = RUNS.restarted.record;

let browser;
afterEach(() => browser.stop());

/** Open the page of a task, which `airflow` describes: its record, its state and its links; or a status for each. */
async function openTask(airflow) {
  browser = startBrowser((path) => {
    if (path.includes("/xcomEntries/")) return typeof airflow.record === "number" ? airflow.record : { value: airflow.record };
    if (path.endsWith("/links")) return { extra_links: airflow.links ?? {} };
    return typeof airflow.state === "number" ? airflow.state : { state: airflow.state };
  });
  await showRun(TASK);
  return browser.page;
}

test("times of a live run last until now, and totals show the time of the record", async () => {
  const page = await openTask({ record: LIVE, state: "running" });
  assert.match(page.textContent, /RunningHealthy2h, .* so far.*10:00:00 to now \(UTC\)/);
  assert.match(page.textContent, /The driver waited for \d+d\d+h so far for the image/);
  assert.match(page.textContent, /Totals as of 2026-11-27 11:00:00/);
  await browser.advance(60);
  assert.match(page.textContent, /RunningHealthy2h1m, /);
});

test("a record of a killed task is not live, and the page stops asking", async () => {
  const page = await openTask({ record: LIVE, state: "failed" });
  assert.match(page.textContent, /The task ended \(state failed\); its last record is from 2026-11-27 11:00:00\./);
  assert.match(page.textContent, /Unknown1h, .*10:00:00 to 2026-11-27 11:00:00 \(UTC\)/);
  assert.match(page.textContent, /^[^,]*Unknown.*The driver waited for an unknown time/s);
  assert.doesNotMatch(page.textContent, /to now|as of/);
  const { length } = browser.requests;
  await browser.advance(60);
  assert.equal(browser.requests.length, length);
});

test("a task that waits for its next try is not live, and the page asks again", async () => {
  const airflow = { record: LIVE, state: "up_for_retry" };
  const page = await openTask(airflow);
  assert.match(page.textContent, /state up_for_retry/);
  Object.assign(airflow, { record: ENDED, state: "success" });
  await browser.advance(10);
  assert.match(page.textContent, /Succeeded/);
  assert.doesNotMatch(page.textContent, /up_for_retry/);
});

test("a live run stays live if the user may not see the state of the task", async () => {
  assert.match((await openTask({ record: LIVE, state: 403 })).textContent, /to now/);
});

for (const member of ["record", "state"]) {
  test(`a failed request for the ${member} leaves the content below the sentence`, async () => {
    const airflow = { record: LIVE, state: "running" };
    const page = await openTask(airflow);
    airflow.record = { ...LIVE, state: "Rescheduled" };
    await browser.advance(6);
    const before = airflow[member];
    airflow[member] = 503;
    for (let failures = 0; failures < 3; failures += 1) await browser.advance(16);
    assert.match(page.textContent, /^Airflow answered with the status 503\..*Rescheduled.*Timeline/s);
    airflow[member] = before;
    await browser.advance(20);
    assert.doesNotMatch(page.textContent, /503/);
  });
}

test("a failed request for the state of a task without a record is repeated", async () => {
  const airflow = { record: 404, state: 503 };
  const page = await openTask(airflow);
  airflow.state = "running";
  await browser.advance(20);
  assert.match(page.textContent, /The task is in the state running\./);
});

test("the losses of a run are at the top, and the legend names the signs", async () => {
  const page = await openTask({ record: LIVE, state: "running" });
  assert.match(page.textContent, /Attempt 2 follows attempt 1.*3 of 24 executors were lost: 1 out of memory.*Totals/s);
  const legend = page.descendants.filter((one) => one.attributes.class === "legend").at(-1);
  assert.deepEqual(legend.children.map((one) => one.textContent).slice(-2), ["failure", "restart"]);
});

for (const [what, driver, executor, cost] of [
  ["executors", "0.100", "≥ 0.200", "≥ 0.500"], ["totals.cost.driver", "0.100", "0.200", "≥ 0.500"],
  ["totals.requested.driver", "≥ 0.100", "0.200", "≥ 0.500"], ["pods", "≥ 0.100", "≥ 0.200", "≥ 0.500"],
  ["spark", "0.100", "0.200", "0.500"],
]) {
  test(`the amounts that a gap affects are lower limits: ${what}`, async () => {
    const requested = { driver: { coreHours: 0.1 }, executor: { coreHours: 0.2, gibHours: 0.3, waitingShare: 0.25 } };
    const totals = { ...ENDED.totals, requested, cost: { amount: 0.5, currency: "EUR", executor: 0.4, spot: 0.2 } };
    const allTries = { coreHours: 1, gibHours: 2, cost: { amount: 3, currency: "EUR" }, incomplete: true };
    const record = { ...ENDED, totals, allTries, missing: [{ what, why: "" }] };
    const page = await openTask({ record, state: "success" });
    const values = page.all("dd").map((one) => one.textContent);
    const amounts = Object.fromEntries(page.all("dt").map((one, at) => [one.textContent, values[at]]));
    assert.equal(amounts["Requested by drivers"], `${driver} core-hours`);
    const executors = new RegExp(`^${executor} core-hours; .*0.300 GiB-hours, 25 % before the containers started`);
    assert.match(amounts["Requested by executors"], executors);
    assert.equal(amounts.Cost, `${cost} EUR: ${cost.replace("0.5", "0.4")} for executors; ${cost.replace("0.5", "0.2")} of it on spot nodes`);
    assert.equal(amounts["All tries"], "≥ 1.00 core-hours; ≥ 2.00 GiB-hours; ≥ 3.00 EUR");
  });
}

test("the memory of each try shows its growth", async () => {
  const earlierTries = [{ tryNumber: 1, requests: { driver: { memoryGiB: 0.875 } } }, { tryNumber: 2 }];
  const requests = { driver: { cores: 1, memoryGiB: 1.375 }, executor: { cores: 1, memoryGiB: 2 } };
  const page = await openTask({ record: { ...ENDED, requests, earlierTries }, state: "success" });
  assert.match(page.textContent, /Memory of eachdriver 1.38 GiB, executor 2.00 GiB/);
  assert.match(page.textContent, /Try 1: unknown driver 0.875 GiB.*Try 2: unknown/s);
  browser.stop();
  const [smaller] = earlierTries;
  const grown = await openTask({ record: { ...ENDED, requests, earlierTries: [smaller] }, state: "success" });
  assert.match(grown.textContent, /Memory since try 1: driver 1.38 GiB, executor 2.00 GiB, instead of driver 0.875 GiB\..*Totals/);
});

test("earlier tries have their cost, and the sentence of the latest one is at the top", async () => {
  const verdict = { outcome: "Failed", failureKind: "infrastructure", sentence: "Failed: evicted." };
  const earlierTries = [
    { tryNumber: 1, verdict, requested: { driver: { coreHours: 0.5 } } },
    { tryNumber: 2, verdict, cost: { amount: 0.25, currency: "EUR" }, missing: ["executors"] },
  ];
  const page = await openTask({ record: { ...ENDED, earlierTries }, state: "success" });
  assert.match(page.textContent, /The application succeeded\..*Try 2: Failed: evicted\..*Totals.*Earlier tries/);
  assert.match(page.textContent, /Try 1: Failed: evicted\. 0\.500 core-hours.*Try 2: Failed: evicted\. ≥ 0\.250 EUR/);
  browser.stop();
  earlierTries[1].verdict = { outcome: "Unknown" };
  const succeeded = await openTask({ record: { ...ENDED, earlierTries }, state: "success" });
  assert.doesNotMatch(succeeded.textContent, /Try 2.*Totals/);
});

const cost = { amount: 0.156, currency: "EUR" };
for (const [name, change, words] of [
  ["core-hours without prices", {}, "1h30m, 22.90 core-hours"],
  ["the cost", { totals: { ...ENDED.totals, cost } }, ", 0.156 EUR"],
  ["the cost of all tries", { allTries: { cost, incomplete: true }, application: { name: "pi", task: { tryNumber: "2" } } },
    ", ≥ 0.156 EUR for 2 tries"],
  ["the core-hours of tries with several currencies", { allTries: { coreHours: 4 } }, ", 4.00 core-hours for all tries"],
]) {
  test(`the second line of the page ends with ${name}`, async () => {
    const page = await openTask({ record: { ...ENDED, ...change }, state: "success" });
    const head = page.descendants.filter((one) => one.attributes.class === "head").at(-1);
    assert.ok(head.textContent.endsWith(words), head.textContent);
  });
}

test("the cost of a live run is the one so far", async () => {
  const page = await openTask({ record: { ...LIVE, totals: { ...LIVE.totals, cost } }, state: "running" });
  assert.match(page.textContent, /0\.156 EUR so far/);
});

test("sentences begin with a capital letter and end with a full stop", async () => {
  const waiting = "it waits for Kueue admission in queue team-a";
  const page = await openTask({ record: { ...LIVE, waiting }, state: "running" });
  assert.match(page.textContent, /The application waits for Kueue admission in queue team-a\./);
  browser.stop();
  const verdict = { outcome: "Failed", sentence: "check full failed: no rows" };
  const advice = [{ text: "executors used at most 0.3 GiB (2.80 → 1.30 GiB for each executor)" }];
  const failed = await openTask({ record: { ...ENDED, verdict, advice }, state: "success" });
  assert.match(failed.textContent, /Check full failed: no rows\.Attempt 2.*AdviceExecutors used .* executor\)\.Time.*Totals/s);
});

test("a live run that waits for nothing shows its progress, or no empty paragraph", async () => {
  const facts = [{ name: "progress", text: "stages 3/4, tasks 120/200" }];
  const page = await openTask({ record: { ...LIVE, losses: undefined, spark: { facts } }, state: "running" });
  const find = () => browser.page.descendants.find((one) => one.attributes.class === "verdict");
  assert.equal(find().textContent, "Progress: stages 3/4, tasks 120/200.");
  assert.doesNotMatch(page.textContent, /Attempt failed {1,2}Failed/);
  browser.stop();
  await openTask({ record: { ...LIVE, losses: undefined }, state: "running" });
  assert.equal(find(), undefined);
});

test("figures of the Spark UI have their time in the zone of the page", async () => {
  const spark = { source: "ui", time: "2026-11-27T10:30:00Z", facts: [{ name: "shuffle", text: "0 B" }] };
  const page = await openTask({ record: { ...LIVE, spark }, state: "running" });
  assert.match(page.textContent, /What Spark did as of 2026-11-27 10:30:00shuffle: 0 B/);
});

test("a record of another program is not drawn without limits", async () => {
  const executors = Array.from({ length: 1000 }, () => ({ start: LIVE.begin }));
  const marks = [{ time: LIVE.begin, kind: "Failed", text: "x".repeat(9000) }];
  const page = await openTask({ record: { ...LIVE, executors, marks, otherExecutors: {} }, state: "running" });
  assert.ok(page.all("summary").length < 300);
  assert.ok(page.all("li").every((one) => one.textContent.length < 6000));
  browser.stop();
  const large = await openTask({ record: { ...LIVE, marks: [{ text: "x".repeat(200_000) }] }, state: "running" });
  assert.match(large.textContent, /is not the record of a run/);
});

test("a malformed record has a sentence, and the page asks again", async () => {
  const airflow = { record: { ...LIVE, totals: { requested: { driver: null } } }, state: "running" };
  const page = await openTask(airflow);
  assert.match(page.textContent, /^This page could not show the record: ./);
  airflow.record = LIVE;
  await browser.advance(16);
  assert.match(page.textContent, /Timeline/);
});

test("a status that did not change is not written again", async () => {
  const page = await openTask({ record: LIVE, state: "running" });
  const find = () => page.descendants.filter((one) => one.attributes.role === "status");
  const before = find().map((one) => [one, one.changes]);
  await browser.advance(60);
  assert.deepEqual(find().map((one) => [one, one.changes]), before);
});

/** Open the table of the runs in `airflow.entries`, newest first. A record is found by the id of its run. */
async function openTable(airflow) {
  browser = startBrowser((path, parameters) => {
    const [from, most] = ["offset", "limit"].map((name) => Number(parameters.get(name)));
    if (path.endsWith("/~/xcomEntries")) {
      return { xcom_entries: airflow.entries.slice(from, from + most), total_entries: airflow.entries.length };
    }
    if (path.includes("/xcomEntries/")) return { value: airflow.records?.[path.split("/")[2]] ?? ENDED };
    const active = airflow.active ?? [];
    return active.length >= 0 ? { task_instances: active, total_entries: airflow.actives ?? active.length } : active;
  });
  await showRuns({ dag: "sales" });
  return browser.page;
}

const enter = (number, timestamp = "1") => ({ ...ENTRY, run_id: `r${number}`, timestamp });
const readTable = (page) => page.all("tbody")[0].children.map((row) => row.children.map((cell) => cell.textContent));
const readStatus = (page) => page.descendants.find((one) => one.attributes.role === "status").textContent;
const count = (run) => browser.requests.filter((path) => path.includes(`/${run}/`) && path.includes("xcomEntries/")).length;

for (const [name, totals] of Object.entries({
  "a text as a cost": { cost: { amount: "1" } }, "no usage": { requested: { driver: null } }, "no totals": 5,
})) {
  test(`a malformed record does not break the table: ${name}`, async () => {
    const records = { r1: { ...ENDED, totals }, r2: { ...ENDED, application: "x" } };
    const page = await openTable({ entries: [enter(2), enter(1), enter(0)], records });
    const outcomes = readTable(page).map((cells) => cells[3]);
    assert.equal(outcomes[2], "Succeeded");
    if (totals !== 5) assert.equal(outcomes[1], "no record");
    for (const button of page.all("button")) await button.click();
    assert.equal(readTable(page).length, 3);
  });
}

test("amounts have three significant digits", async () => {
  const totals = { ...ENDED.totals, requested: { driver: { coreHours: 0.00234 } }, cost: { amount: 1.239, currency: "EUR" } };
  const page = await openTable({ entries: [enter(1)], records: { r1: { ...ENDED, totals } } });
  assert.deepEqual(readTable(page)[0].slice(-2), ["0.00234", "1.24 EUR"]);
});

test("a failed run is marked", async () => {
  const failed = { ...ENDED, verdict: { outcome: "Failed", sentence: "no" } };
  const page = await openTable({ entries: [enter(1), enter(2)], records: { r1: ENDED, r2: failed } });
  assert.deepEqual(page.all("tbody")[0].children.map((row) => row.attributes.class).sort(), ["Failed", "Succeeded"]);
});

test("amounts of a record that lacks pods are lower limits", async () => {
  const totals = { ...ENDED.totals, requested: { driver: { coreHours: 0.5 } }, cost: { amount: 2, currency: "EUR" } };
  const missing = [{ what: "executors", why: "forbidden" }];
  const page = await openTable({ entries: [enter(1)], records: { r1: { ...ENDED, totals, missing } } });
  assert.deepEqual(readTable(page)[0].slice(-2), ["≥ 0.500", "≥ 2.00 EUR"]);
});

test("amounts of the table are those of all tries", async () => {
  const allTries = { coreHours: 3.5, cost: { amount: 7, currency: "EUR" } };
  const unknown = { coreHours: 4, incomplete: true }; // the tries have several currencies
  const records = { r1: { ...ENDED, allTries }, r2: { ...ENDED, allTries: unknown } };
  const page = await openTable({ entries: [enter(1), enter(2)], records });
  assert.deepEqual(readTable(page).map((cells) => cells.slice(-2)), [["3.50", "7.00 EUR"], ["≥ 4.00", ""]]);
});

test("the last row of the table is the sum of the runs that match the filter, for each currency", async () => {
  const build = (coreHours, amount, currency) => ({ ...ENDED, allTries: { coreHours, cost: { amount, currency } } });
  const records = { r1: build(1, 2, "EUR"), r2: build(2, 0.5, "EUR"), r3: build(3, 4, "USD"), r4: { ...ENDED, allTries: {} } };
  const entries = [1, 2, 3].map((number) => enter(number));
  const page = await openTable({ entries, records });
  const readSum = () => browser.page.all("tfoot")[0].descendants.slice(1).map((one) => one.textContent);
  assert.deepEqual(readSum(), ["Sum of 3 runs, with all tries", "6.00", "2.50 EUR, 4.00 USD"]);
  const [field] = page.all("input");
  for (const [words, sum] of [["eur", ["Sum of 2 runs, with all tries", "3.00", "2.50 EUR"]], ["usd", []]]) {
    field.value = words;
    field.listeners.input();
    assert.deepEqual(readSum(), sum);
  }
  browser.stop();
  await openTable({ entries: [...entries, enter(4)], records });
  assert.deepEqual(readSum().slice(1), ["28.90", "≥ 2.50 EUR, ≥ 4.00 USD"]);
});

test("a run that waits now has waited until now", async () => {
  const states = [{ state: "Submitted", phase: "waiting", begin: LIVE.begin }];
  const totals = { ...LIVE.totals, waitingSeconds: 3600 };
  const records = { r1: { ...LIVE, attempts: [{ number: 1, states }], totals } };
  const page = await openTable({ entries: [enter(1)], records, active: [INSTANCE] });
  assert.equal(readTable(page)[0][6], "2h");
  browser.stop();
  const run = await openTask({ record: records.r1, state: "deferred" });
  assert.match(run.textContent, /Timewaiting 2h \(100 %\)/);
});

test("at most six records are read at once", async () => {
  const page = await openTable({ entries: Array.from({ length: 50 }, (_, index) => enter(index)) });
  assert.equal(browser.most, 6);
  assert.deepEqual(new Set(readTable(page).map((cells) => cells[3])), new Set(["Succeeded"]));
});

test("a table that was opened early shows the first run", async () => {
  const airflow = { entries: [] };
  const page = await openTable(airflow);
  assert.equal(readStatus(page), "No task recorded a run.");
  airflow.entries = [enter(1)];
  await browser.advance(16);
  assert.deepEqual(readTable(page).map((cells) => cells[1]), ["r1"]);
  assert.equal(readStatus(page), "1 of 1 runs loaded.");
});

test("new runs are added at the top, and no run is repeated", async () => {
  const entries = Array.from({ length: 120 }, (_, index) => enter(119 - index));
  const airflow = { entries };
  const page = await openTable(airflow);
  assert.equal(readTable(page).length, 50);
  airflow.entries = [...Array.from({ length: 70 }, (_, index) => enter(189 - index)), ...entries];
  await browser.advance(16);
  await page.descendants.find((one) => one.id === "all").click();
  await browser.settle();
  const runs = readTable(page).map((cells) => cells[1]);
  assert.deepEqual(runs, airflow.entries.map((one) => one.run_id));
  assert.equal(readStatus(page), "190 of 190 runs loaded.");
});

test("runs that are added while the user loads all are not repeated", async () => {
  const airflow = { entries: Array.from({ length: 60 }, (_, index) => enter(59 - index)) };
  const page = await openTable(airflow);
  airflow.entries = [enter(60), ...airflow.entries];
  await page.descendants.find((one) => one.id === "all").click();
  await browser.advance(16);
  const runs = readTable(page).map((cells) => cells[1]);
  assert.equal(new Set(runs).size, runs.length);
  assert.equal(runs.length, 61);
});

test("records are read again if they are live or have changed", async () => {
  const airflow = { entries: [enter(2), enter(1)], records: { r2: LIVE }, active: [{ ...INSTANCE, dag_run_id: "r2" }] };
  await openTable(airflow);
  assert.deepEqual([count("r1"), count("r2")], [1, 1]);
  await browser.advance(16);
  assert.deepEqual([count("r1"), count("r2")], [1, 2]);
  airflow.entries = [enter(2), enter(1, "2")];
  await browser.advance(16);
  assert.deepEqual([count("r1"), count("r2")], [2, 3]);
});

test("a live row lasts until now, and a row of a killed task does not", async () => {
  const records = { r2: LIVE, r1: LIVE };
  const page = await openTable({ entries: [enter(2), enter(1)], records, active: [{ ...INSTANCE, dag_run_id: "r2" }] });
  const [live, killed] = readTable(page);
  assert.equal(live[3], LIVE.state);
  assert.deepEqual([live[5], live[7]], ["2h", "2026-11-27 11:00:00"]);
  assert.equal(killed[3], "Unknown");
  await browser.advance(60);
  assert.equal(readTable(page)[0][5], "2h1m");
});

for (const [name, airflow] of Object.entries({ "may not be seen": { active: 403 }, "are too many": { actives: 500 } })) {
  test(`rows stay live if the states of the tasks ${name}`, async () => {
    const page = await openTable({ entries: [enter(1)], records: { r1: LIVE }, ...airflow });
    assert.equal(readTable(page)[0][3], LIVE.state);
  });
}

test("the status of the table is written only if it changed", async () => {
  const page = await openTable({ entries: [enter(1)], records: { r1: LIVE }, active: [INSTANCE] });
  const status = page.descendants.find((one) => one.attributes.role === "status");
  const before = status.changes;
  await browser.advance(60);
  assert.equal(status.changes, before);
});

for (const search of ["?dag_id=..", "?dag_id=sales&run_id=r1&task_id=."]) {
  test(`an address that cannot be read has a sentence: ${search}`, async () => {
    browser = startBrowser(() => 404, search);
    await import(`${STATIC}/view.js${search}`);
    assert.match(browser.page.textContent, /^This page could not show the record: ./);
    assert.deepEqual(browser.requests, []);
  });
}

for (const [search, sentence] of Object.entries({
  "?dag_id=%E0%A4%A": /Airflow has no record for this address\./,
  "?dag_id=%E0%A4%A&run_id=1&task_id=2": /^Airflow does not know this task instance/,
})) {
  test(`an address with a malformed escape has a sentence: ${search}`, async () => {
    browser = startBrowser(() => 404, search);
    await import(`${STATIC}/view.js${search.replaceAll("%", "")}`);
    assert.match(browser.page.textContent, sentence);
  });
}

test("what Spark did is shown in words, and hostile figures are text", async () => {
  const facts = [{ name: "progress", text: "stages 3/4" }, { name: "<b>x</b>", text: {} }, "text", null];
  const advice = [{ text: "executors used little: executor_memory='4g'" }, { text: "<i>" }, 5];
  const page = await openTask({ record: { ...ENDED, advice, spark: { facts } }, state: "success" });
  assert.match(page.textContent, /Advice.*executor_memory='4g'.*<i>/s);
  assert.match(page.textContent, /What Spark did.*progress: stages 3\/4.*<b>x<\/b>: \[object Object\]/s);
});

test("what the job reported is shown, and hostile values are text", async () => {
  const checks = { full: { passed: false, detail: "<b>no</b>" }, fresh: { passed: true }, odd: null };
  const page = await openTask({ record: { ...ENDED, report: { checks, metadata: { rows: 3 }, progress: 0.5 } },
    state: "success" });
  assert.match(page.textContent, /Reported by the job.*check full failed: <b>no<\/b>.*check fresh passed/s);
  assert.match(page.textContent, /check odd failed.*rows: 3.*progress: 0.5/s);
});

for (const report of [5, "text", { checks: 5, metadata: null, progress: "x" }, null]) {
  test(`a record with ${JSON.stringify(report)} as a report is shown without it`, async () => {
    const page = await openTask({ record: { ...ENDED, report }, state: "success" });
    assert.match(page.textContent, /Totals/);
    assert.doesNotMatch(page.textContent, /Reported by the job/);
  });
}

for (const spark of [5, "text", { facts: 5 }, null]) {
  test(`a record with ${JSON.stringify(spark)} as figures is shown without them`, async () => {
    const page = await openTask({ record: { ...ENDED, spark }, state: "success" });
    assert.match(page.textContent, /Totals/);
    assert.doesNotMatch(page.textContent, /What Spark did/);
  });
}

test("what to change and where the time went come before the totals, and events have their offset", async () => {
  const advice = [{ text: "executors used at most 0.3 of 2.0 GiB" }];
  const page = await openTask({ record: { ...ENDED, advice }, state: "success" });
  assert.match(page.textContent, /succeeded\..*AdviceExecutors used.*Timewaiting 3s \(<1 %\).*with executors 1h24m \(94 %\).*Totals/);
  assert.match(page.textContent, /\+15m Executor failed pi-0-exec-2: .*\+30m7s Attempt failed .*\+1h30m Succeeded/);
  assert.match(page.textContent, /attempt 1: Failed/);
});

test("the event of a failure has the message of its state", async () => {
  const { record } = RUNS.evicted;
  const page = await openTask({ record, state: "failed" });
  assert.match(page.textContent, /\+30s Failed .*EvictionByEvictionAPI: evicting\./);
});

test("each lane keeps the focus when the page is updated", async () => {
  const page = await openTask({ record: LIVE, state: "running" });
  const ids = page.all("summary").map((one) => one.id);
  assert.ok(ids.every(Boolean));
  assert.equal(new Set(ids).size, ids.length);
});

test("a timeline with many executors has a time axis above them, too", async () => {
  const countAxes = (page) => page.descendants.filter((one) => one.attributes.class === "row" && /0s/.test(one.textContent)).length;
  assert.equal(countAxes(await openTask({ record: ENDED, state: "success" })), 2);
  browser.stop();
  assert.equal(countAxes(await openTask({ record: RUNS.evicted.record, state: "failed" })), 1);
});

test("only web addresses become links", async () => {
  const urls = ["https://spark.example.com/a", "javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "/relative", "", null, 5];
  const links = Object.fromEntries(urls.map((url, index) => [`link ${index}`, url]));
  const page = await openTask({ record: ENDED, state: "success", links });
  const found = page.all("a").map((one) => one.attributes.href);
  assert.deepEqual(found.filter((one) => !one.startsWith("http://airflow/")), ["https://spark.example.com/a"]);
});
