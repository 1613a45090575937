// The lanes of a run over time. core/report/timeline_picture.py draws the same, and a test compares the coordinates.
const [VERSION, FIRST_EXECUTORS, DAY] = [1, 20, 86400];
const [LARGEST, MOST] = [100_000, 200]; // records of this package have at most 32 KiB, and fewer entries in each list
const TONES = ["waiting", "starting", "running", "succeeded", "failed", "released", "driver", "executor"];
const MARK_TONES = { AttemptFailed: "failure", ExecutorFailed: "failure", Failed: "failure", Succeeded: "success" };
const TAGS = [[/\b(OOMKilled|exit code 52)\b/, "OOM"], [/Preempt/, "preempted"], [/Evict|DeletionByTaint/, "evicted"]];
const NO_RECORD = "The XCom spark_run of this task is not the record of a run. Another program may have written it.";
const OTHER_VERSION = "This page cannot read the record: it has another version. Install one version everywhere.";
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  ...[1, 2, 7, 14, 28, 91, 365, 3650].map((days) => days * DAY)];
/** Return the objects in a list of a record; none if the value is no list. */
export const list = (value) =>
  (Array.isArray(value) ? value.slice(0, MOST).filter((one) => one && typeof one === "object") : []);
/** Return why a value is no record that this page can show; an empty string if it is one. */
export function findProblem(value) {
  if (!Number.isInteger(value?.version) || JSON.stringify(value).length > LARGEST) return NO_RECORD;
  if (value.version !== VERSION) return OTHER_VERSION;
  return value.application && value.verdict && value.totals ? "" : "The record of this run is incomplete.";
}
/** Return a time of a record in milliseconds; undefined if it is missing or invalid. */
export const readTime = (text) =>
  (typeof text === "string" && !Number.isNaN(Date.parse(text)) ? Date.parse(text) : undefined);

/** Return the two largest units of a duration in milliseconds: 5m3s, 2d4h. */
export function formatDuration(milliseconds) {
  const total = Math.max(0, Math.floor(milliseconds / 1000));
  const numbers = [total / DAY, (total / 3600) % 24, (total / 60) % 60, total % 60].map(Math.floor);
  const first = numbers.findIndex((number) => number > 0);
  return numbers.map((one, at) => (one > 0 && at < first + 2 ? `${one}${"dhms"[at]}` : "")).join("") || "0s";
}
export const formatShort = (duration) => (duration < 1000 ? `${Math.floor(duration)}ms` : formatDuration(duration));
/** Return the outcome of a run; its state while it runs. */
export const nameOutcome = (record) => String(record.live ? record.state : record.verdict.outcome);
/** Return the last record of a task that ended without a final one: nobody knows what the application did since. */
export const endRecord = (record) => ({ ...record, live: false, verdict: { outcome: "Unknown" },
  missing: [...list(record.missing), { what: "end", why: "the task stored no final record" }] });
/** Return the mark of an amount that the true one can exceed: of a role, of the cost, or of all tries. */
export function markLimit({ missing, allTries }, part) {
  const roles = { driver: "totals.requested.driver", executor: "executors|totals.requested.executor" };
  const gaps = new RegExp(`^(end|attempts|pods|${roles[part] ?? "executors|totals.*"})$`);
  return (part === "tries" && allTries?.incomplete) || list(missing).some(({ what }) => gaps.test(what)) ? "≥ " : "";
}
/** Return the core-hours and the cost of a run with all tries of its task; undefined if they are unknown. */
export const sumHours = ({ totals: { requested }, allTries }) => allTries?.coreHours ??
  (requested && Object.values(requested).reduce((sum, one) => sum + one.coreHours, 0));
export const findCost = ({ totals, allTries }) => (allTries ? allTries.cost : totals.cost);
/** Return the end of a run. A live one lasts until now. */
export const readEnd = ({ end, live }, now) => Math.max(readTime(end) ?? 0, live ? now : 0);
/** Return how long a run has waited, in milliseconds. One that waits now has done so since the time of its record. */
export function measureWaiting({ live, end, attempts, totals }, now) {
  const { phase } = list(list(attempts).at(-1)?.states).at(-1) ?? {};
  const since = /^(waiting|starting)$/.test(phase) ? readEnd({ end, live }, now) - readTime(end) : 0;
  return totals.waitingSeconds * 1000 + since;
}

/** Return the lanes of a record, from the coordinate `left` to `right`. Those of a live run last until `now`. */
export function layOut(record, { left = 0, right = 100, least = 0.3, ticks = 10, now = 0 } = {}) {
  const end = readEnd(record, now);
  const begin = Math.min(readTime(record.begin) ?? end, end);
  const [span, round] = [Math.max(end - begin, 1000), (value) => Number(value.toFixed(1))];
  const place = (time) => round(left + (right - left) * Math.min(Math.max((time - begin) / span, 0), 1));
  const bar = (row) => ({ detail: "", tag: "", ...row, x: place(row.begin),
    width: round(Math.max(place(row.end) - place(row.begin), least)) });
  const attempts = list(record.attempts);
  const groups = [...buildMissing(record, attempts[0] ?? {}), ...attempts.map((one) => buildAttempt(one, record, end))];
  const executors = list(record.executors).filter(({ start }) => readTime(start) !== undefined);
  const counts = list(record.executorCounts).filter(([time, number]) => readTime(time) !== undefined && number >= 0);
  const most = Math.max(0, ...counts.map(([, number]) => number));
  if (executors.length) {
    const total = Object.values(record.otherExecutors ?? {}).reduce((sum, number) => sum + number, executors.length);
    if (total > FIRST_EXECUTORS) executors.sort((a, b) => (b.state === "Failed") - (a.state === "Failed"));
    const rows = executors.map((one) => buildPod(one, String(one.name ?? ""), "executor", record, end));
    const more = rows.splice(FIRST_EXECUTORS).map(bar);
    const part = rows.length < total ? `, the first ${rows.length}` : "";
    groups.push({ title: `executors: ${total}${part}; at most ${most} at once`, rows, more });
  }
  const known = groups.filter(({ rows }) => rows.length).map((group) => ({ ...group, rows: group.rows.map(bar) }));
  return { begin, end, groups: known,
    tones: TONES.filter((tone) => known.some(({ rows }) => rows.some((row) => row.tone === tone))),
    ticks: chooseTicks(span, ticks).map((tick) => ({ x: place(begin + tick), text: formatDuration(tick) })),
    marks: list(record.marks).filter(({ time }) => readTime(time) !== undefined).map(({ time, kind, text }) => (
      { time: readTime(time), x: place(readTime(time)), kind: String(kind), text: String(text),
        tone: MARK_TONES[kind] ?? "restart" })),
    curve: counts.length > 0 && { most: Math.max(1, most), last: place(Math.max(end, readTime(counts.at(-1)[0]))),
      steps: counts.map(([time, number]) => [place(readTime(time)), number / Math.max(1, most)]) },
  };
}
function buildMissing(record, first) {
  const [begin, end, last] = [readTime(record.begin), readTime(first.begin), first.number - 1];
  if (!(last >= 1 && begin <= end)) return [];
  return [{ title: `attempt ${last > 1 ? `1-${last}` : "1"}: no longer in the status`, rows: [
    { label: "states unknown", begin, end, tone: "waiting", lasted: formatShort(end - begin) }] }];
}
function buildAttempt({ number, states, driver }, record, now) {
  const known = list(states).filter(({ begin }) => readTime(begin) !== undefined);
  const rows = known.filter(({ begin }) => record.live || readTime(begin) <= now).map((state) => {
    const begin = readTime(state.begin);
    const end = Math.max(readTime(state.end) ?? now, begin);
    return { label: String(state.state), begin, end, tone: TONES.includes(state.phase) ? state.phase : "released",
      lasted: formatShort(end - begin), message: [state.reason, state.message].filter(Boolean).join(": ") };
  });
  const stop = driver?.state === "Failed" && rows.find(({ tone }) => tone === "failed")?.message; // of a deleted pod
  if (readTime(driver?.start) !== undefined) rows.push(buildPod(driver, "driver", "driver", record, now, stop));
  const retained = known.find(({ state }) => state === "TerminatedWithoutReleaseResources");
  const lasted = readTime(retained?.end) - readTime(retained?.begin);
  const retention = lasted > 0 ? `were retained for ${formatShort(lasted)}` : "are retained";
  return { title: `attempt ${number}${retained ? `; its resources ${retention}` : ""}`, rows };
}
function buildPod(pod, label, tone, record, now, stop) {
  const [begin, exit] = [readTime(pod.start), String(pod.exit ?? "")];
  const end = Math.max(readTime(pod.end) ?? (pod.state === "Running" ? now : begin), begin);
  const { cores, memoryGiB } = { ...record.requests?.[tone], ...pod };
  const facts = [pod.name, pod.node && `node ${pod.node}`, cores >= 0 && `${cores} cores, ${memoryGiB} GiB`];
  return { label, begin, end, tone: pod.state === "Failed" ? "failed" : tone, lasted: formatDuration(end - begin),
    detail: exit, tag: TAGS.find(([words]) => words.test(exit || stop || ""))?.[1] ?? "",
    message: facts.filter(Boolean).join(", ") };
}
function chooseTicks(span, most) {
  const step = STEPS.find((one) => Math.floor(span / 1000 / one) < Math.max(2, most)) ?? span / 1000;
  return Array.from({ length: Math.floor(span / 1000 / step) + 1 }, (_, index) => index * step * 1000);
}
