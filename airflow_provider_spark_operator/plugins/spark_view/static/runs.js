// The table of the tasks of a DAG run, or of the runs of a DAG.
import { findActive, formatAddress, formatTaskPage, listRuns, readRecord } from "./airflow.js";
import { formatAmount, formatTime, inAirflow, link, make, say, show } from "./elements.js";
import { endRecord, findCost, findProblem, formatDuration, markLimit, measureWaiting, nameOutcome, readEnd, readTime,
  sumHours } from "./layout.js";

const [PAGE, AT_ONCE, LATER, NONE] = [50, 6, 15_000, "No task recorded a run."];
const atLeast = (value, { record }) => markLimit(record, "tries") + formatAmount(value);
// The title of each column, its value for sorting, how to show the value if it is a number, and what it means.
const COLUMNS = [
  ["Task", ({ one }) => one.task + (one.index < 0 ? "" : ` [${one.index}]`)],
  ["Run", ({ one }) => one.run],
  ["Application", ({ record }) => record?.application.name],
  ["Outcome", ({ record, text }) => (record ? nameOutcome(record) : text)],
  ["Begin", ({ record }) => readTime(record?.begin), (time) => formatTime(time)],
  ["Duration", ({ record }) => record && readEnd(record, Date.now()) - readTime(record.begin), formatDuration],
  ["Waiting", ({ record }) => record && measureWaiting(record, Date.now()), formatDuration,
    "Time before the program ran, or while it was suspended"],
  ["Totals as of", ({ record }) => readTime(record?.end), (time) => formatTime(time)],
  ["Executors", ({ record }) => record?.totals.executorsAtOnce, String],
  ["Core-hours", ({ record }) => record && sumHours(record), atLeast, "Of all tries"],
  ["Cost", ({ record }) => record && findCost(record)?.amount,
    (value, row) => `${atLeast(value, row)} ${findCost(row.record).currency}`, "Of all tries"],
];

/** Show the runs of a DAG run or a DAG: the newest first, and more while the user scrolls. */
export async function showRuns(scope) {
  const columns = COLUMNS.filter(([title]) => title !== "Run" || !scope.run);
  const [rows, known] = [[], new Map()];
  let [offset, total, loading, sorted, up, words, pending] = [0, Infinity, undefined, undefined, false, "", 0];
  const sort = (title) => { [up, sorted] = [sorted === title ? !up : false, title]; render(); };
  const buildHead = ([title, , format, meaning]) => make("th", { scope: "col", class: format && "number",
    "aria-sort": sorted !== title ? "none" : up ? "ascending" : "descending" },
  make("button", { type: "button", id: `by-${title}`, title: meaning, click: () => sort(title) }, title));
  const filter = () => { words = field.value.toLowerCase(); render(); };
  const field = make("input", { type: "search", id: "filter", autocomplete: "off", input: filter });
  const [head, body, foot, end] = [make("tr"), make("tbody"), make("tfoot"), make("div", { class: "end" })];
  const status = say("Reading the runs…");
  const table = make("table", {}, make("thead", {}, head), body, foot);
  const loadAll = async () => { while (await more() >= 0 && offset < total); };
  const all = make("button", { type: "button", id: "all", click: loadAll }, "Load all");
  function render() {
    if (total === Infinity) return;
    const by = columns.findIndex(([title]) => title === sorted);
    const found = rows.filter((row) => row.words?.includes(words));
    if (by >= 0) found.sort((a, b) => compare(a.values[by], b.values[by]) * (up ? 1 : -1));
    show(columns.map(buildHead), head);
    show(found.map((row) => row.element), body);
    show([found.length > 1 && make("tr", {},
      make("th", { scope: "row", colspan: columns.length - 2 }, `Sum of ${found.length} runs, with all tries`),
      columns.slice(-2).map(([title, read]) => make("td", { class: "number" }, formatSum(found, read, title))))], foot);
    table.classList.toggle("free", !rows.some(({ record }) => record && findCost(record)));
    const match = words ? `, ${found.length} of them match the filter` : "";
    report(rows.length ? `${rows.length} of ${Math.max(total, rows.length)} runs loaded${match}.` : NONE);
    all.hidden = offset >= total;
  }
  const report = (text) => { if (status.textContent !== text) status.textContent = text; }; // is read out once
  async function load(row, isActive) {
    try {
      const record = await readRecord(row.one);
      row.text = findProblem(record) && "no record";
      row.record = row.text ? undefined : record.live && !isActive(row.one) ? endRecord(record) : record;
      row.due = row.record?.live;
    } catch (error) { // a record that was read before stays
      [row.text, row.due] = [error.message, ![401, 403].includes(error.status)];
    }
    draw(row);
    pending ||= requestAnimationFrame(() => { pending = 0; render(); });
  }
  function draw(row) {
    try {
      row.values = columns.map(([, read]) => read(row));
      row.cells = row.values.map((one, at) => (Number.isNaN(one ?? NaN) ? "" : (columns[at][2] ?? String)(one, row)));
    } catch { // a malformed record
      return draw(Object.assign(row, { record: undefined, text: "no record" }));
    }
    row.words = row.cells.join(" ").toLowerCase();
    row.element = make("tr", { class: row.record?.verdict?.outcome }, row.cells.map((text, index) => (
      index ? make("td", { class: columns[index][2] ? "number" : columns[index][0].toLowerCase() }, text) :
        make("th", { scope: "row" }, link(text, findPage(row.one), { id: row.id })))));
  }

  /** Read a page of runs, and the records that are new, changed or due. Return the number of new runs. */
  async function read(from) {
    // Before the records, because a task stores its final record before it ends.
    const [isActive, page] = await Promise.all([findActive(scope), listRuns(scope, from, PAGE)]);
    const [fresh, due] = [[], new Set(rows.filter((row) => from === 0 && row.due))];
    for (const { one, time } of page.runs) {
      const key = formatAddress(one);
      const row = known.get(key) ?? { one, id: `row-${known.size}`, text: "…" };
      if (row.time !== time) due.add(row);
      if (!known.has(key)) fresh.push(row);
      known.set(key, Object.assign(row, { time }));
    }
    rows.splice(from, 0, ...fresh);
    offset += from < offset ? fresh.length : page.runs.length;
    total = page.runs.length ? page.total : offset;
    fresh.forEach(draw);
    render(); // the rows appear at once, and their records later
    const queue = due.values(); // which the workers share
    const work = async () => { for (const row of queue) await load(row, isActive); };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    watcher.unobserve(end); // so that the watcher looks again
    watcher.observe(end);
    return fresh.length;
  }
  /** List the newest runs again, up to a page that contains known ones. */
  async function refresh() {
    for (let from = 0; !document.hidden && await attempt(from) === PAGE && from + PAGE < offset;) from += PAGE;
    setTimeout(refresh, LATER);
  }
  const attempt = (from) => read(from).catch((error) => report(error.message));
  // Callers share the request of one page.
  const more = () => offset < total && (loading ??= attempt(offset).finally(() => { loading = undefined; }));
  const watcher = new IntersectionObserver(([entry]) => entry.isIntersecting && more(), { rootMargin: "300px" });
  show([make("h1", {}, "Spark applications"),
    make("p", { class: "bar" }, make("label", { for: "filter" }, "Filter"), field, all), status,
    make("div", { class: "wide", role: "region", "aria-label": "Runs", tabindex: 0 }, table), end]);
  await more();
  setTimeout(refresh, LATER);
}
// The sum of the known amounts of runs; of costs, for each currency.
function formatSum(rows, read, title) {
  const [known, sums] = [rows.filter((row) => read(row) >= 0), new Map()];
  const find = ({ record }) => (title === "Cost" ? ` ${findCost(record).currency}` : "");
  for (const row of known) sums.set(find(row), (sums.get(find(row)) ?? 0) + read(row));
  const mark = known.length < rows.length || known.some(({ record }) => markLimit(record, "tries")) ? "≥ " : "";
  return [...sums].map(([unit, sum]) => mark + formatAmount(sum) + unit).join(", ");
}
// Without Airflow's page around it, the user may not see the tab.
const findPage = (one) => (window.parent === window ? formatAddress(one) :
  inAirflow(`${formatTaskPage(one)}/plugin/spark`));
const compare = (a, b) => (a >= 0 && b >= 0 ? a - b : String(a ?? "").localeCompare(String(b ?? "")));
