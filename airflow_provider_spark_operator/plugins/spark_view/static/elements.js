// Elements of the page. Recorded text is untrusted: it becomes text nodes and nothing else.

const SVG = "http://www.w3.org/2000/svg";

/** Return an element with attributes and children. Children are elements and texts; missing ones are left out. */
export const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function fill(element, attributes = {}, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  const shown = children.flat(Infinity).filter((one) => one || one === 0);
  element.append(...shown.map((one) => (one instanceof Node ? one : document.createTextNode(String(one)))));
  return element;
}

/** Replace the content of an element, the whole page by default. The focus and the open details stay. */
export function show(children, element = document.getElementById("page")) {
  const focused = document.activeElement?.id;
  const open = [...element.querySelectorAll("details[open]")].map((one) => one.id);
  element.replaceChildren(...children.filter(Boolean));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** Return a sentence that screen readers read out. */
export const say = (text) => make("p", { class: "note", role: "status" }, text);

export function button(text, id, act) {
  const made = make("button", { type: "button", id }, text);
  made.addEventListener("click", act);
  return made;
}

/**
 * Return a link that opens in the page around this one; with the target "_blank", in another tab.
 *
 * The sandbox of Airflow's frame does not permit this page to open pages.
 */
export function link(text, address, { target = "_self", ...attributes } = {}) {
  const anchor = make("a", { href: address, target, rel: "noopener noreferrer", ...attributes }, text);
  anchor.addEventListener("click", (event) => {
    if (window.parent === window) return;
    event.preventDefault();
    const outer = window.parent.document.createElement("a");
    [outer.href, outer.rel] = [anchor.href, anchor.rel];
    outer.target = event.ctrlKey || event.metaKey ? "_blank" : target;
    outer.click();
  });
  return anchor;
}

/** Return the address of a page of Airflow, which can be served below a path. */
export const inAirflow = (path) => new URL(`../${path}`, document.baseURI).href;

/** Return the time zone that the user chose in Airflow. */
export function findZone() {
  const stored = (localStorage.getItem("timezone") ?? "").replaceAll('"', "");
  try {
    return new Intl.DateTimeFormat("sv", { timeZone: stored }).resolvedOptions().timeZone;
  } catch { // not chosen, or "local"
    return stored === "local" ? new Intl.DateTimeFormat().resolvedOptions().timeZone : "UTC";
  }
}

/** Return a time in this zone. */
export const formatTime = (milliseconds) =>
  new Intl.DateTimeFormat("sv", { timeZone: findZone(), dateStyle: "short", timeStyle: "medium" }).format(milliseconds);

/** Use the colours of Airflow. Some browsers do not pass them to a frame. */
export function followTheme() {
  const outer = window.parent.document.documentElement;
  const apply = () => {
    const theme = ["dark", "light"].find((one) => outer.classList.contains(one)) ?? localStorage.getItem("theme");
    document.documentElement.style.colorScheme = /^(dark|light)$/.test(theme) ? theme : "light dark";
  };
  apply();
  if (window.parent !== window) new MutationObserver(apply).observe(outer, { attributeFilter: ["class"] });
}
