// The lanes of a run over time. core/report/timeline_picture.py draws the same, and a test compares the coordinates.
const [VERSION, FIRST_EXECUTORS, DAY] = [1, 20, 86400];
const [LARGEST, MOST] = [100_000, 200]; // records of this package have at most 32 KiB, and fewer entries in each list
export const PARTS = { driver: "driver only", executor: "with executors" };
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
export const join = (mark, ...texts) => texts.filter(Boolean).join(mark);
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
export const readEnd = ({ end, live }, now) => Math.max(readTime(end) ?? 0, live ? now : 0);
/** Return how long a run has waited before its program ran, in milliseconds. */
export const measureWaiting = (record, now) => record.totals.waitingSeconds * 1000 +
  (/^(waiting|starting)$/.test(listStates(record).at(-1)?.phase) ? readEnd(record, now) - readTime(record.end) : 0);
/** Return the lanes of a record, from the coordinate `left` to `right`. Those of a live run last until `now`. */
export function layOut(record, { left = 0, right = 100, least = 0.3, ticks = 10, now = 0 } = {}) {
  const end = readEnd(record, now);
  const begin = Math.min(readTime(record.begin) ?? end, end);
  const [span, round] = [Math.max(end - begin, 1000), (value) => Number(value.toFixed(1))];
  const place = (time) => round(left + (right - left) * Math.min(Math.max((time - begin) / span, 0), 1));
  const put = (most) => (one) => ({ detail: "", tag: "", ...one, x: place(one.begin),
    width: round(Math.max(place(one.end) - place(one.begin), most)) });
  const groups = [...buildMissing(record), ...list(record.attempts).map((it) => buildAttempt(it, record, begin, end))];
  const executors = list(record.executors).filter(({ start }) => readTime(start) !== undefined);
  const counts = list(record.executorCounts).map(([time, number]) => [readTime(time), number])
    .filter(([time, number]) => time !== undefined && number >= 0);
  const most = Math.max(0, ...counts.map(([, number]) => number));
  if (executors.length) {
    const total = Object.values(record.otherExecutors ?? {}).reduce((sum, number) => sum + number, executors.length);
    if (total > FIRST_EXECUTORS) executors.sort((a, b) => (b.state === "Failed") - (a.state === "Failed"));
    const rows = executors.map((one) => buildPod(one, String(one.name ?? ""), "executor", record, end));
    const more = rows.splice(FIRST_EXECUTORS).map(put(least));
    const part = rows.length < total ? `, the first ${rows.length}` : "";
    groups.push({ title: `executors: ${total}${part}; at most ${most} at once`, rows, more });
  }
  const areKnown = !list(record.missing).some(({ what, why }) => what === "executors" && / earlier /.test(why));
  const parts = listParts(record, areKnown ? counts : [], begin, end).map(put(0));
  return { begin, end, parts, shares: measureShares(parts, end - begin),
    groups: groups.filter(({ rows }) => rows.length).map((group) => ({ ...group, rows: group.rows.map(put(least)) })),
    ticks: chooseTicks(span, ticks).map((tick) => ({ x: place(begin + tick), text: formatDuration(tick) })),
    marks: list(record.marks).filter(({ time }) => readTime(time) !== undefined).map(({ time, kind, text }) => (
      { time: readTime(time), x: place(readTime(time)), kind: String(kind), text: String(text),
        message: formatReason(listStates(record).find((one) => one.begin === time && one.state === text)),
        tone: MARK_TONES[kind] ?? "restart" })),
    curve: counts.length > 0 && { most: Math.max(1, most), last: place(Math.max(end, counts.at(-1)[0])),
      steps: counts.map(([time, number]) => [place(time), number / Math.max(1, most)]) },
  };
}
const listStates = ({ attempts }) => list(attempts).flatMap(({ states }) => list(states));
const formatReason = ({ reason, message } = {}) => join(": ", reason, message);
const findTone = ({ phase }) => (TONES.includes(phase) ? phase : "released");
const isEnd = (tone) => /^(succeeded|failed|released)$/.test(tone);
// What a run did over time. A program that runs is divided by whether executors run.
const listParts = (record, counts, first, last) => listStates(record).flatMap((state) => {
  const [from, to] = [Math.max(readTime(state.begin), first), Math.min(readTime(state.end) ?? last, last)];
  const find = (time) => (state.phase !== "running" || !counts.length ? findTone(state) :
    counts.findLast(([at]) => at <= time)?.[1] > 0 ? "executor" : "driver");
  const cuts = [from, ...counts.map(([time]) => time).filter((time) => from < time && time < to)]
    .filter((time, at, all) => at === 0 || find(time) !== find(all[at - 1]));
  return from < to ? cuts.map((begin, at) => ({ begin, end: cuts[at + 1] ?? to, tone: find(begin) })) : [];
});
const measureShares = (parts, span) => TONES.flatMap((tone) => {
  const lasted = parts.reduce((sum, part) => sum + (part.tone === tone ? part.end - part.begin : 0), 0);
  const text = `${PARTS[tone] ?? tone} ${formatShort(lasted)} (${Math.round(100 * lasted / span) || "<1"} %)`;
  return lasted >= (isEnd(tone) ? 1000 : 1) ? [{ tone, text }] : [];
});
function buildMissing(record) {
  const [{ begin: until, number } = {}] = list(record.attempts);
  const [begin, end, last] = [readTime(record.begin), readTime(until), number - 1];
  if (!(last >= 1 && begin <= end)) return [];
  return [{ title: `attempt ${last > 1 ? `1-${last}` : "1"}: no longer in the status`, rows: [
    { label: "states unknown", begin, end, tone: "waiting", lasted: formatShort(end - begin) }] }];
}
const isQueue = (time) => (one) => one.kind === "queue" && readTime(one.begin) <= time && !(readTime(one.end) <= time);
function buildAttempt({ number, states, driver }, record, first, now) {
  const known = list(states).filter(({ begin }) => readTime(begin) !== undefined);
  const rows = known.flatMap((state) => {
    const [begin, tone, isOpen] = [readTime(state.begin), findTone(state), !state.end || state.phase === "running"];
    const end = Math.max(Math.min(readTime(state.end) ?? now, now), begin);
    const least = isEnd(tone) ? 1000 : isOpen ? 0 : Math.min(1000, (now - first) / 100);
    const detail = tone === "waiting" && list(record.waits).some(isQueue(begin)) ? "in the queue" : "";
    const words = { label: String(state.state), lasted: formatShort(end - begin), message: formatReason(state) };
    return end - begin < least ? [] : [{ ...words, detail, begin, end, tone }]; // it would look empty
  });
  const stop = known.findLast(({ phase }) => phase === "failed" || phase === "succeeded");
  const cause = driver?.state === "Failed" && stop?.phase === "failed" && formatReason(stop); // of a deleted pod
  if (readTime(driver?.start) !== undefined) rows.push(buildPod(driver, "driver", "driver", record, now, cause));
  const retained = known.find(({ state }) => state === "TerminatedWithoutReleaseResources");
  const lasted = readTime(retained?.end) - readTime(retained?.begin);
  const retention = lasted > 0 ? `were retained for ${formatShort(lasted)}` : retained && "are retained";
  return { rows, title: join("; its resources ", join(": ", `attempt ${number}`, stop?.state), retention) };
}
function buildPod(pod, label, tone, record, now, stop) {
  const [begin, exit] = [readTime(pod.start), String(pod.exit ?? "")];
  const end = Math.max(readTime(pod.end) ?? (pod.state === "Running" ? now : begin), begin);
  const { cores, memoryGiB } = { ...record.requests?.[tone], ...pod };
  return { label, begin, end, tone: pod.state === "Failed" ? "failed" : tone, lasted: formatDuration(end - begin),
    detail: exit, tag: TAGS.find(([words]) => words.test(exit || stop || ""))?.[1] ?? "",
    message: join(", ", pod.name, pod.node && `node ${pod.node}`, cores >= 0 && `${cores} cores, ${memoryGiB} GiB`) };
}
function chooseTicks(span, most) {
  const step = STEPS.find((one) => Math.floor(span / 1000 / one) < Math.max(2, most)) ?? span / 1000;
  return Array.from({ length: Math.floor(span / 1000 / step) + 1 }, (_, index) => index * step * 1000);
}
