// Elements of the page. Recorded text is untrusted: it becomes text nodes and nothing else.
const [SVG, LONGEST] = ["http://www.w3.org/2000/svg", 5000];
/** Return an element with attributes, listeners and children: elements and texts; missing ones are left out. */
export const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
function fill(element, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== undefined) element.setAttribute(name, String(value));
  }
  const shown = children.flat(Infinity).filter((one) => one || one === 0); // append makes text of other values
  element.append(...shown.map((one) => (typeof one === "string" ? one.slice(0, LONGEST) : one)));
  return element;
}

/** Replace the content of an element, the whole page by default. The focus and the open details stay. */
export function show(children, element = document.getElementById("page")) {
  const focused = document.activeElement?.id;
  const open = [...element.querySelectorAll("details[open]")].map((one) => one.id);
  const shown = new Set(children.filter(Boolean)); // screen readers read out a status again if it is replaced
  [...shown].forEach((child, index) => {
    const old = element.children[index];
    if (old === child || old?.isEqualNode(child)) return;
    if (!old || shown.has(old)) element.insertBefore(child, old ?? null);
    else if (!old.matches("[role=status]") || !child.matches("[role=status]")) old.replaceWith(child);
    else old.replaceChildren(...child.cloneNode(true).childNodes); // the child can be shown again
  });
  while (element.children[shown.size]) element.children[shown.size].remove();
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}
export const say = (text) => make("p", { class: "note", role: "status" }, text); // screen readers read it out
/** Return a link that opens in the page around this one; with the target "_blank", in another tab. */
export function link(text, address, { target = "_self", ...attributes } = {}) {
  const click = (event) => { // the sandbox of Airflow's frame does not permit this page to open pages
    if (window.parent === window) return;
    event.preventDefault();
    const [{ href, rel }, tab] = [event.currentTarget, event.ctrlKey || event.metaKey ? "_blank" : target];
    Object.assign(window.parent.document.createElement("a"), { href, rel, target: tab }).click();
  };
  return make("a", { href: address, target, rel: "noopener noreferrer", click, ...attributes }, text);
}
export const inAirflow = (path) => new URL(`../${path}`, document.baseURI).href; // it can be below a path
export function findZone() {
  const stored = localStorage.getItem("timezone")?.replaceAll('"', "") || "UTC";
  const find = (timeZone) => new Intl.DateTimeFormat("sv", { timeZone }).resolvedOptions().timeZone;
  try { return find(stored === "local" ? undefined : stored); } catch { return "UTC"; }
}
export const note = (...texts) => make("span", { class: "note" }, texts);
export const formatAmount = (value) => (value >= 1 || value === 0 ? value.toFixed(2) : value.toPrecision(3));
/** Return a text of a record as a sentence: with a capital letter and a full stop. */
export function formatSentence(text) {
  const named = String(text).trim().replace(/^it\b/, "The application");
  return named.charAt(0).toUpperCase() + named.slice(1) + (/[.!?…]$/.test(named) ? "" : ".");
}
export const formatTime = (milliseconds) =>
  new Intl.DateTimeFormat("sv", { timeZone: findZone(), dateStyle: "short", timeStyle: "medium" }).format(milliseconds);

/** Use the colours of Airflow. Some browsers do not pass them to a frame. */
export function followTheme() {
  const outer = window.parent.document.documentElement;
  const apply = () => {
    const [theme] = `${outer.className} ${localStorage.getItem("theme")}`.match(/\b(dark|light)\b/) ?? ["light dark"];
    document.documentElement.style.colorScheme = theme;
  };
  apply();
  if (window.parent !== window) new MutationObserver(apply).observe(outer, { attributeFilter: ["class"] });
}
