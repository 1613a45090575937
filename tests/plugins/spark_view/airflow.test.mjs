import assert from "node:assert/strict";
import { test } from "node:test";
import * as airflow from "../../../airflow_provider_spark_operator/plugins/spark_view/static/airflow.js";

const TASK = { dag: "sales", run: "scheduled__2026-11-27T08:00:00+00:00", task: "group.load", index: -1 };

test("a placeholder that Airflow did not replace is missing", () => {
  const query = "?dag_id=sales&run_id=manual__1&task_id=load&map_index={MAP_INDEX}";
  assert.deepEqual(airflow.parseAddress(query), { dag: "sales", run: "manual__1", task: "load", index: -1 });
  assert.deepEqual(airflow.parseAddress("?dag_id=sales&run_id={RUN_ID}&task_id={TASK_ID}").run, undefined);
  assert.equal(airflow.parseAddress("?map_index=%7BMAP_INDEX%7D").index, -1);
});

test("a run id with + and : is read, encoded or not", () => {
  assert.equal(airflow.parseAddress(`?run_id=${TASK.run}`).run, TASK.run);
  assert.equal(airflow.parseAddress(`?run_id=${encodeURIComponent(TASK.run)}`).run, TASK.run);
});

test("an address is read as it was written", () => {
  for (const one of [TASK, { ...TASK, index: 3 }]) {
    assert.deepEqual(airflow.parseAddress(airflow.formatAddress(one)), one);
  }
});

test("the page of a mapped task has its index", () => {
  const page = "dags/sales/runs/scheduled__2026-11-27T08%3A00%3A00%2B00%3A00/tasks/group.load";
  assert.equal(airflow.formatTaskPage(TASK), page);
  assert.equal(airflow.formatTaskPage({ ...TASK, index: 3 }), `${page}/mapped/3`);
});

for (const search of ["?dag_id=..", "?dag_id=sales&run_id=r1&task_id=.", "?dag_id=%2e%2E"]) {
  test(`an id that changes the path of a request is refused: ${search}`, () => {
    assert.throws(() => airflow.parseAddress(search), /not supported/);
  });
}

test("a malformed escape is part of an id", () => {
  assert.match(airflow.parseAddress("?dag_id=a%E0%A4%A&run_id=100%").dag, /^a/);
});

for (const status of [0, 401, 403, 404, 500]) {
  test(`a request that failed with ${status} has a sentence`, () => {
    assert.match(airflow.buildProblem(status).message, /^[A-Z].*\.$/);
  });
}
