// The page of one task instance.
import { ACTIVE, formatTaskPage, ignore, readLinks, readRecord, readState } from "./airflow.js";
import { draw, findZone, formatAmount, formatSentence, formatTime, inAirflow, link, make, note, say, show,
} from "./elements.js";
import { endRecord, findCost, findProblem, formatDuration, join, layOut, list, markLimit, nameOutcome, readTime,
  sumHours } from "./layout.js";

const [LIVE, LATER, ENDED] = [5_000, 15_000, ["success", "failed", "skipped", "upstream_failed", "removed"]];
const NOTHING = "This task recorded no run. Either it is not a task for a Spark application, it ended before it " +
  "submitted one, do_xcom_push=False is set, or it ran with an older version of the provider.";
const NEEDS = { queue: "admission to the queue", quota: "quota", node: "a node", image: "the image" };

/** Show a task instance, and refresh the page until the run ends. A failed request leaves the content. */
export async function showRun(one) {
  let content = [];
  const refresh = async () => {
    let [text, pause] = ["", LATER];
    try {
      ({ text, pause, content = [] } = await look(one));
    } catch (error) {
      text = `${error.status === undefined ? "This page could not show the record: " : ""}${error.message}`;
      if ([401, 403].includes(error.status)) pause = undefined;
    }
    show([say(text), ...content]);
    const wait = () => document.addEventListener("visibilitychange", refresh, { once: true });
    if (pause) setTimeout(() => (document.hidden ? wait() : refresh()), pause);
  };
  await refresh();
}

/** Return the elements for a task instance, or the sentence to show; with the pause until the next look. */
async function look(one) {
  const state = await readState(one); // first, because the task stores its final record before it ends
  const record = await readRecord(one).catch(ignore(404));
  if (record === undefined) return explainMissing(state);
  if (findProblem(record)) return { text: findProblem(record) };
  const links = await readLinks(one).catch(() => []); // the record is worth more than the links
  if (!record.live) return { content: build(record, links, one) };
  if (state === undefined || ACTIVE.includes(state)) return { content: build(record, links, one), pause: LIVE };
  return { content: build(endRecord(record), links, one), pause: ENDED.includes(state) ? undefined : LIVE, text:
    `The task ended (state ${state ?? "none"}); its last record is from ${formatTime(readTime(record.end))}.` };
}
function explainMissing(state) {
  if (state === undefined) return { text: "Airflow does not know this task instance, or you may not see it." };
  if (ENDED.includes(state)) return { text: NOTHING };
  const now = state ? `The task is in the state ${state}.` : "The task has not been scheduled.";
  return { text: `${now} This page shows its application as soon as the task has recorded it.`, pause: LIVE };
}

function build(record, links, one) {
  const layout = layOut(record, { ticks: Math.min(10, Math.floor(window.innerWidth / 140)), now: Date.now() });
  const { live, end, spark } = record;
  const name = (title, time, is) => (is && readTime(time) ? `${title} as of ${formatTime(readTime(time))}` : title);
  return [
    ...buildHead(record, layout), buildVerdict(record),
    section("Advice", listTexts(record.advice, ({ text }) => formatSentence(text))),
    section("Time", buildTime(layout)), buildLinks(links, one),
    section(name("Totals", end, live), buildTotals(record)),
    buildLanes(layout), section("Events", buildMarks(layout)), section("Waits", buildWaits(record, layout)),
    section(name("What Spark did", spark?.time, spark?.source === "ui"),
      listTexts(spark?.facts, (one) => `${one.name}: ${one.text}`)),
    section("Reported by the job", listTexts(listReport(record.report ?? {}))),
    section("Earlier tries", listTexts(record.earlierTries, buildTry)),
    section("Not recorded", listTexts(record.missing, ({ what, why }) => `${what}: ${why}`)),
  ];
}
const buildTry = ({ tryNumber, begin, end, verdict = {}, requests, missing = [], ...totals }) => [
  `Try ${tryNumber}: ${verdict.sentence ?? verdict.outcome ?? "unknown"} `,
  note(join(", ", [begin, end].map(readTime).filter(Boolean).map(formatTime).join(" to "), formatMemory(requests),
    formatUsage({ totals, missing: [missing].flat().map((what) => ({ what })) })))];
const section = (title, content) => content && make("section", {}, make("h2", {}, title), content);
const listTexts = (value, format = ({ text }) => `${text}`) =>
  list(value).length > 0 && make("ul", {}, list(value).map((one) => make("li", {}, format(one))));
const listReport = ({ checks, metadata, progress, queries }) => [
  ...Object.entries(checks ?? {}).map(([name, check]) => (
    `check ${name} ${check?.passed ? "passed" : "failed"}${check?.detail ? `: ${check.detail}` : ""}`)),
  ...Object.entries(queries ?? {}).map(([name, one]) => `query ${name}: batch ${one?.batch ?? "none"}, ${one?.time}`),
  ...Object.entries({ ...metadata, ...(progress >= 0 && { progress }) }).map(([name, value]) => `${name}: ${value}`),
].map((text) => ({ text }));
function buildHead(record, { begin, end }) {
  const { application: { name, namespace, task }, verdict: { failureKind }, live, allTries } = record;
  const [outcome, usage, number] = [nameOutcome(record), formatUsage(record), task?.tryNumber];
  const badge = make("strong", { class: `badge ${live ? "live" : outcome.toLowerCase()}` }, outcome);
  return [make("h1", {}, name ?? "application"),
    make("p", { role: "status", class: "head" }, badge, failureKind && ` ${failureKind} failure`),
    make("p", { class: "head" }, make("strong", {}, formatDuration(end - begin), usage && `, ${usage}`),
      usage && (live ? " so far" : allTries && ` for ${number ?? "all"} tries`)),
    make("p", { class: "note" }, join(", ", namespace && `namespace ${namespace}`, number && `try ${number}`,
      `${formatTime(begin)} to ${live ? "now" : formatTime(end)} (${findZone()})`))];
}
function buildVerdict({ live, verdict, waiting, losses, spark, requests, earlierTries }) {
  const progress = list(spark?.facts).find(({ name }) => name === "progress");
  const { tryNumber, verdict: last = {}, requests: before } = list(earlierTries).at(-1) ?? {};
  const [memory, growth] = [before, requests].map(formatMemory);
  const texts = [live ? waiting || (progress && `progress: ${progress.text}`) : verdict.sentence, losses,
    last.outcome === "Failed" && `Try ${tryNumber}: ${last.sentence ?? "failed"}`,
    memory && growth && memory !== growth && `Memory since try ${tryNumber}: ${growth}, instead of ${memory}`,
  ].filter(Boolean).map((text) => make("p", {}, formatSentence(text)));
  const cause = verdict.cause &&
    make("pre", { tabindex: 0, role: "region", "aria-label": "Cause in the log of the driver" }, verdict.cause);
  return (texts.length > 0 || cause) && make("div", { class: "verdict" }, texts, cause);
}
const buildLinks = (links, one) => make("nav", { "aria-label": "Pages of this run" },
  links.map(([name, url], index) => link(name, url, { target: "_blank", id: `link-${index}` })),
  link("Task and its log", inAirflow(formatTaskPage(one)), { id: "link-task" }));
const explain = (sign, text) => make("span", {}, draw("svg", {}, sign), text);
const buildTime = ({ parts, shares }) => parts.length > 0 && make("div", {},
  drawLane(parts.map(drawBar)), make("p", { class: "legend" },
    shares.map(({ tone, text }) => explain(drawBar({ tone, x: 0, width: 100 }), text))));
function buildLanes(layout) {
  const buildList = (rows, id) => make("ol", {}, rows.map((row, index) => buildLane(row, layout, `${id}-${index}`)));
  const lanes = layout.groups.map(({ title, rows, more = [] }, group) => make("section", { class: "lanes" },
    make("h3", {}, title), buildList(rows, `lane-${group}`), more.length > 0 && make("details", { id: "more" },
      make("summary", { id: "more-name" }, `${more.length} more executors`), buildList(more, "more"))));
  const signs = [...new Set(layout.marks.map(({ tone }) => tone))].map((tone) =>
    explain(drawLine(50, `mark ${tone}`), tone));
  return section("Timeline", make("div", {}, make("p", { class: "legend", "aria-hidden": "true" }, signs),
    layout.groups.at(-1)?.rows.length > 9 && buildAxis(layout), lanes, buildCurve(layout), buildAxis(layout)));
}
const drawLane = (...parts) => draw("svg", { class: "lane", "aria-hidden": "true" }, parts);
const drawBar = ({ tone, x, width }) =>
  draw("rect", { class: tone, x: `${x}%`, width: `${width}%`, y: "15%", height: "70%" });
const drawLine = (x, name) => draw("line", { x1: `${x}%`, x2: `${x}%`, y1: 0, y2: "100%", class: name });
const drawSign = (x) => draw("svg", { x: `${x}%`, y: "50%", class: "sign" }, draw("path", { d: "M-6 0L0-6 6 0 0 6Z" }));
function buildLane({ label, begin, end, x, width, tone, lasted, detail, tag, message }, { ticks, marks }, id) {
  const lines = [ticks.map((one) => drawLine(one.x, "grid")), marks.map((one) => drawLine(one.x, `mark ${one.tone}`))];
  return make("li", {},
    make("details", { id, class: "label" },
      make("summary", { id: `${id}-name`, title: label }, label.length > 28 ? `…${label.slice(-27)}` : label)),
    drawLane(lines, drawBar({ tone, x, width }), tag && drawSign(Math.min(x + width, 99))),
    make("span", { class: "text" }, tag && make("strong", { class: "tag" }, tag), ` ${lasted} ${detail}`),
    make("div", { class: "open" }, `${formatTime(begin)} to ${formatTime(end)}`, message && `, ${message}`));
}
const buildRow = (label, picture, text) => make("div", { class: "row" },
  make("span", { class: "label" }, label), picture, make("span", { class: "text" }, text));
const drawStep = ([x, share]) => `H${x}V${(30 * (1 - share)).toFixed(1)}`;
const buildCurve = ({ curve }) => curve && buildRow("executors over time",
  draw("svg", { class: "lane tall", viewBox: "0 0 100 30", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("path", { class: "curve",
      d: `M${curve.steps[0][0]} 30${curve.steps.map(drawStep).join("")}H${curve.last}V30Z` })), `0 to ${curve.most}`);
const buildAxis = ({ ticks }) => buildRow("", drawLane(ticks.map(({ x, text }) => draw("text",
    { x: `${x}%`, y: 14, "text-anchor": x < 5 ? "start" : x > 95 ? "end" : "middle" }, text))));
const buildMarks = ({ marks, begin }) => listTexts(marks, ({ time, kind, text, tone, message }) => [
  `+${formatDuration(time - begin)} `,
  make("strong", { class: `word ${tone}` }, kind.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)),
  ` ${join(": ", !kind.endsWith(text) && text, message)} `, note(formatTime(time))]);
const buildWaits = ({ waits, live }, { end: now }) => listTexts(waits, ({ kind, role, begin, end, pods, text }) => {
  const [from, to, still] = [readTime(begin), readTime(end) ?? (live ? now : undefined), live && !end ? " so far" : ""];
  const lasted = to === undefined ? "for an unknown time" : `for ${formatDuration(to - from)}${still}`;
  return [`${pods > 1 ? `${pods} ${role}s` : `The ${role}`} waited ${lasted} for ${NEEDS[kind] ?? kind}. `, note(text)];
});
const formatMemory = (requests) => Object.entries(requests ?? {}).map(([role, { memoryGiB }]) =>
  `${role} ${formatAmount(memoryGiB)} GiB`).join(", ");
const formatAmounts = (record, part, ...amounts) => amounts.filter(([amount]) => amount >= 0).map(([amount, unit]) =>
  `${markLimit(record, part)}${formatAmount(amount)} ${unit}`).join("; ");
function formatUsage(record) {
  const { amount, currency } = findCost(record) ?? { amount: sumHours(record), currency: "core-hours" };
  return formatAmounts(record, "tries", [amount, currency]);
}
function buildTotals(record) {
  const { totals: { executors, requested, cost }, allTries: tries } = record;
  const format = (...amounts) => formatAmounts(record, ...amounts);
  return make("dl", {}, [
    ["Executors", Object.entries(executors ?? {}).map(([state, number]) => `${number} ${state}`).join(", ")],
    ...Object.entries(requested ?? {}).map(([role, { coreHours, gibHours, waitingShare }]) => [`Requested by ${role}s`,
      format(role, [coreHours, "core-hours"], [gibHours, "GiB-hours"]) +
        (waitingShare > 0 ? `, ${Number((waitingShare * 100).toFixed(1))} % before the containers started` : "")]),
    ["Memory of each", formatMemory(record.requests)],
    ["Cost", cost && [[[cost.amount, cost.currency]], [[cost.driver, "for drivers"], [cost.executor, "for executors"],
      [cost.spot, "of it on spot nodes"]]].map((one) => format("cost", ...one)).filter(Boolean).join(": ")],
    ["All tries", tries && format("tries", [tries.coreHours, "core-hours"], [tries.gibHours, "GiB-hours"],
      [tries.cost?.amount, tries.cost?.currency])],
  ].filter(([, value]) => value).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}
