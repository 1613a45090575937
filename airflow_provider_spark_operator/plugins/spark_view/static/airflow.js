// Airflow's public REST API, read with the session of the user.
const [TIMEOUT, KEY, MOST] = [30_000, "spark_run", 100];
export const ACTIVE = ["running", "deferred", "scheduled", "queued", "restarting"]; // others follow no application
const SENTENCES = {
  0: "Airflow does not answer. This page tries again.",
  401: "Your session has ended. Sign in to Airflow again, then reload this page.",
  403: "You do not have permission to read this DAG or its XComs. Ask an administrator of Airflow for access.",
  404: "Airflow has no record for this address.",
};
const encode = encodeURIComponent;
/** Return the error of a failed request: a sentence for the user. The status is 0 if Airflow did not answer. */
export const buildProblem = (status) => Object.assign(new Error(SENTENCES[status] ??
  `Airflow answered with the status ${status}. This page tries again.`), { status });
export const ignore = (...statuses) => (error) => { if (!statuses.includes(error.status)) throw error; };
/** Return the ids in a query string. A placeholder such as {MAP_INDEX}, which Airflow did not replace, is missing. */
export function parseAddress(query) {
  const values = new URLSearchParams(query.replaceAll("+", "%2B")); // Airflow 3.1 does not encode the + of a run id
  const [dag, run, task, index] = ["dag_id", "run_id", "task_id", "map_index"].map((name) => values.get(name))
    .map((value) => (value && !/^\{\w+\}$/.test(value) ? value : undefined));
  // The path of a request would lead elsewhere.
  if ([dag, run, task].some((id) => /^\.\.?$/.test(id))) throw new Error("The ids . and .. are not supported.");
  return { dag, run, task, index: /^\d+$/.test(index) ? Number(index) : -1 };
}
/** Return the query string with which this page shows a task instance. */
export const formatAddress = ({ dag, run, task, index }) =>
  `?dag_id=${encode(dag)}&run_id=${encode(run)}&task_id=${encode(task)}&map_index=${index}`;
export const formatTaskPage = ({ dag, run, task, index }) =>
  `dags/${encode(dag)}/runs/${encode(run)}/tasks/${encode(task)}${index < 0 ? "" : `/mapped/${index}`}`;
const readIds = (one) =>
  ({ dag: one.dag_id, run: one.run_id ?? one.dag_run_id, task: one.task_id, index: one.map_index });
const formatTasks = ({ dag, run = "~" }) => `dags/${encode(dag)}/dagRuns/${encode(run)}/taskInstances`;
const formatTask = (one) => `${formatTasks(one)}/${encode(one.task)}`;
async function read(path, parameters = {}) {
  const query = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const address = new URL(`../api/v2/${path}?${new URLSearchParams(query)}`, document.baseURI);
  const fail = () => { throw buildProblem(0); };
  const get = (headers) =>
    fetch(address, { headers, cache: "no-store", signal: AbortSignal.timeout(TIMEOUT) }).catch(fail);
  let [answer, token] = [await get({}), localStorage.getItem("token")];
  if (answer.status === 401 && token) answer = await get({ Authorization: `Bearer ${token}` }); // 3.1.0 reads no cookie
  if (!answer.ok) throw buildProblem(answer.status);
  return answer.json().catch(fail);
}
/** Return what a task instance recorded. It may be no record: see `findProblem`. */
export async function readRecord(one) {
  const get = (more) => read(`${formatTask(one)}/xcomEntries/${KEY}`, { map_index: one.index, ...more });
  const { value } = await get();
  // A text is the reference of a custom XCom backend. The API server deserializes nothing else for this page.
  return typeof value === "string" ? (await get({ deserialize: true }).catch(() => ({ value }))).value : value;
}
/** Return the state of a task instance: null if Airflow has not scheduled it, undefined if the user may not see it. */
export const readState = async (one) =>
  (await read(`${formatTask(one)}${one.index < 0 ? "" : `/${one.index}`}`).catch(ignore(403, 404)))?.state;
/** Return a function that says whether a task instance still follows its application, or may do so. */
export async function findActive(scope) {
  const found = await read(formatTasks(scope), { state: ACTIVE, limit: MOST }).catch(() => undefined);
  const known = found?.total_entries <= found?.task_instances.length;
  const active = new Set(found?.task_instances.map(readIds).map(formatAddress));
  return (one) => !known || active.has(formatAddress(one));
}
export async function readLinks(one) {
  const { extra_links: links } = await read(`${formatTask(one)}/links`, { map_index: one.index });
  // A recorded address can have another scheme.
  return Object.entries(links ?? {}).filter(([name, url]) => /^https?:\/\//i.test(url) && name !== "Spark view");
}
/** Return task instances that recorded a run, with the time of the record, newest first, and how many there are. */
export async function listRuns(one, offset, most) {
  const parameters = { xcom_key: KEY, limit: most, offset, order_by: "-timestamp" };
  const { xcom_entries: entries, total_entries: total } = await read(`${formatTasks(one)}/~/xcomEntries`, parameters);
  return { total, runs: entries.map((entry) => ({ one: readIds(entry), time: entry.timestamp })) };
}
