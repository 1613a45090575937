// The table of the tasks of a DAG run, or of the runs of a DAG.

import { formatAddress, formatTaskPage, listRuns, readRecord } from "./airflow.js";
import { button, formatTime, inAirflow, link, make, say, show } from "./elements.js";
import { findProblem, formatDuration, nameOutcome, readTime } from "./layout.js";

const [PAGE, LATER] = [50, 15_000];
const countHours = ({ requested }) =>
  requested && Object.values(requested).reduce((total, { coreHours }) => total + coreHours, 0);
const [duration, amount] = [(seconds) => formatDuration(seconds * 1000), (value) => value.toFixed(2)];

// The title of each column, its value for sorting, and how to show the value.
const COLUMNS = [
  ["Task", ({ one }) => one.task + (one.index < 0 ? "" : ` [${one.index}]`)],
  ["Run", ({ one }) => one.run],
  ["Application", ({ record }) => record?.application.name],
  ["Outcome", ({ record, text }) => (record ? nameOutcome(record) : text)],
  ["Begin", ({ record }) => readTime(record?.begin), (time) => formatTime(time)],
  ["Duration", ({ record }) => record?.totals.seconds, duration],
  ["Waiting", ({ record }) => record?.totals.waitingSeconds, duration],
  ["Executors", ({ record }) => record?.totals.executorsAtOnce],
  ["Core-hours", ({ record }) => record && countHours(record.totals), amount],
  ["Cost", ({ record }) => record?.totals.cost?.amount, amount],
];

/** Show the runs of a DAG run or a DAG: the newest first, and more while the user scrolls. */
export async function showRuns(scope) {
  const columns = COLUMNS.filter(([title]) => title !== "Run" || !scope.run);
  const rows = [];
  let [offset, total, loading, sorted, up, words, pending] = [0, Infinity, undefined, undefined, false, "", 0];

  const heads = columns.map(([title]) => make("th", { scope: "col" }, button(title, `by-${title}`, () => {
    [up, sorted] = [sorted === title ? !up : false, title];
    render();
  })));
  const field = make("input", { type: "search", id: "filter", autocomplete: "off" });
  field.addEventListener("input", () => { words = field.value.toLowerCase(); render(); });
  const [body, end] = [make("tbody"), make("div", { class: "end" })];
  const table = make("table", {}, make("thead", {}, make("tr", {}, heads)), body);
  const status = say("Reading the runs…");
  const all = button("Load all", "all", async () => { while (await more()); });

  function render() {
    if (total === Infinity) return;
    const column = columns.find(([title]) => title === sorted);
    const found = rows.filter((row) => row.words?.includes(words));
    if (column) found.sort((a, b) => compare(column[1](a), column[1](b)) * (up ? 1 : -1));
    heads.forEach((head, index) => head.setAttribute("aria-sort",
      columns[index][0] !== sorted ? "none" : up ? "ascending" : "descending"));
    show(found.map((row) => row.element), body);
    table.classList.toggle("free", !rows.some(({ record }) => record?.totals.cost));
    const part = rows.length < total && (sorted || words) ? " Sorting and filtering cover the loaded runs." : "";
    const match = words ? `${found.length} match the filter. ` : "";
    const loaded = `${match}${rows.length} of ${total} runs loaded.${part}`;
    status.textContent = total === 0 ? "No task recorded a run." : loaded;
    all.hidden = rows.length >= total;
  }

  async function load(row) {
    try {
      const record = await readRecord(row.one);
      row.text = findProblem(record) && "no record";
      if (!row.text) row.record = record;
    } catch (error) {
      row.text = error.message;
    }
    draw(row);
    pending ||= requestAnimationFrame(() => { pending = 0; render(); });
  }

  function draw(row) {
    const cells = columns.map(([, read, format = String]) => (read(row) === undefined ? "" : format(read(row))));
    row.words = cells.join(" ").toLowerCase();
    const task = link(cells[0], findPage(row.one), { id: `row-${rows.indexOf(row)}` });
    const others = cells.slice(1).map((text) => make("td", {}, text));
    row.element = make("tr", {}, make("th", { scope: "row" }, task), others);
  }

  async function read() {
    try {
      const page = await listRuns(scope, offset, PAGE);
      offset += PAGE;
      const fresh = page.runs.map((one) => ({ one, text: "…" }));
      rows.push(...fresh);
      total = fresh.length ? page.total : rows.length;
      fresh.forEach(draw);
      render(); // the rows appear at once, and their records later
      await Promise.all(fresh.map(load));
    } catch (error) {
      status.textContent = error.message;
      return false;
    }
    watcher.unobserve(end); // so that the watcher looks again
    watcher.observe(end);
    return offset < total;
  }

  async function refresh() {
    if (!document.hidden) await Promise.all(rows.filter(({ record }) => record?.live).map(load));
    setTimeout(refresh, LATER);
  }

  // Callers share the request of one page.
  const more = () => loading ??= offset < total && read().finally(() => { loading = undefined; });
  const watcher = new IntersectionObserver(([entry]) => entry.isIntersecting && more(), { rootMargin: "300px" });
  show([make("h1", {}, "Spark applications"),
    make("p", { class: "bar" }, make("label", { for: "filter" }, "Filter"), field, all), status,
    make("div", { class: "wide", role: "region", "aria-label": "Runs", tabindex: 0 }, table), end]);
  await more();
  await refresh();
}

// Without Airflow's page around it, the user may not see the tab.
const findPage = (one) =>
  (window.parent === window ? formatAddress(one) : inAirflow(`${formatTaskPage(one)}/plugin/spark`));

// A missing value is the smallest.
const compare = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other :
  String(one ?? "").localeCompare(String(other ?? "")));
