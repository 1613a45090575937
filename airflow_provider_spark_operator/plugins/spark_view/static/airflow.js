// Airflow's public REST API, read with the session of the user.

import { findProblem } from "./layout.js";

const [AT_ONCE, TIMEOUT, KEY] = [6, 30_000, "spark_run"];
const SENTENCES = {
  0: "Airflow does not answer. This page tries again.",
  401: "Your session has ended. Sign in to Airflow again, then reload this page.",
  403: "You do not have permission to read this DAG or its XComs. Ask an administrator of Airflow for access.",
  404: "Airflow has no record for this address.",
};
const encode = encodeURIComponent;

/** A failed request: a sentence for the user, and the status. The status is 0 if Airflow did not answer. */
export class Problem extends Error {
  constructor(status) {
    super(SENTENCES[status] ?? `Airflow answered with the status ${status}. This page tries again.`);
    this.status = status;
  }
}

/** Return the ids in a query string. A placeholder such as {MAP_INDEX}, which Airflow did not replace, is missing. */
export function parseAddress(query) {
  const values = {};
  for (const part of query.replace(/^\?/, "").split("&")) {
    const [name, text = ""] = part.split(/=(.*)/s);
    const value = decodeURIComponent(text); // not URLSearchParams: Airflow 3.1 does not encode the + of a run id
    if (value && !/^\{\w+\}$/.test(value)) values[name] = value;
  }
  const index = /^\d+$/.test(values.map_index ?? "") ? Number(values.map_index) : -1;
  return { dag: values.dag_id, run: values.run_id, task: values.task_id, index };
}

/** Return the query string with which this page shows a task instance. */
export const formatAddress = ({ dag, run, task, index }) =>
  `?dag_id=${encode(dag)}&run_id=${encode(run)}&task_id=${encode(task)}&map_index=${index}`;

/** Return the path of the page of a task instance in Airflow. */
export const formatTaskPage = ({ dag, run, task, index }) =>
  `dags/${encode(dag)}/runs/${encode(run)}/tasks/${encode(task)}${index < 0 ? "" : `/mapped/${index}`}`;

const formatTasks = ({ dag, run = "~" }) => `dags/${encode(dag)}/dagRuns/${encode(run)}/taskInstances`;
const formatTask = (one) => `${formatTasks(one)}/${encode(one.task)}`;

/** Return a function that runs at most `most` of the given jobs at once. */
export function limit(most) {
  let running = 0;
  const waiting = [];
  return async (job) => {
    if (running >= most) await new Promise((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await job();
    } finally {
      if (waiting.length) waiting.shift()(); // the next job takes this place
      else running -= 1;
    }
  };
}

const inTurn = limit(AT_ONCE);

async function read(path, parameters = {}) {
  const address = new URL(`../api/v2/${path}`, document.baseURI);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  const get = (headers) => fetch(address, { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT) });
  return inTurn(async () => {
    let answer;
    try {
      answer = await get({});
      const token = localStorage.getItem("token"); // Airflow 3.0 and 3.1.0 do not read the cookie
      if (answer.status === 401 && token) answer = await get({ Authorization: `Bearer ${token}` });
      if (answer.ok) return await answer.json();
    } catch {
      throw new Problem(0);
    }
    throw new Problem(answer.status);
  });
}

/** Return what a task instance recorded. It may be no record: see `findProblem`. */
export async function readRecord(one) {
  const path = `${formatTask(one)}/xcomEntries/${KEY}`;
  const { value } = await read(path, { map_index: one.index });
  if (!findProblem(value) || Number.isInteger(value?.version)) return value;
  // The database of a custom XCom backend contains a reference.
  return (await read(path, { map_index: one.index, deserialize: true }).catch(() => ({ value }))).value;
}

/** Return the state of a task instance, for example "running"; null if Airflow has not scheduled it. */
export const readState = async (one) =>
  (await read(`${formatTask(one)}${one.index < 0 ? "" : `/${one.index}`}`)).state;

/** Return the links of a task instance to other web pages, by name. */
export async function readLinks(one) {
  const { extra_links: links } = await read(`${formatTask(one)}/links`, { map_index: one.index });
  return Object.entries(links ?? {}).filter(([name, url]) => isWebAddress(url) && name !== "Spark view");
}

/** Return task instances that recorded a run, newest first, and how many there are. */
export async function listRuns(one, offset, most) {
  const parameters = { xcom_key: KEY, limit: most, offset, order_by: "-timestamp" };
  const { xcom_entries: entries, total_entries: total } = await read(`${formatTasks(one)}/~/xcomEntries`, parameters);
  return { total, runs: entries.map((entry) => (
    { dag: entry.dag_id, run: entry.run_id, task: entry.task_id, index: entry.map_index })) };
}

/** Return whether a text is the address of a web page. A recorded address can have another scheme. */
export const isWebAddress = (text) =>
  typeof text === "string" && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
