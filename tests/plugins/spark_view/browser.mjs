// The parts of a browser that the page uses: elements, timers that the test advances, and Airflow's answers.

import { mock } from "node:test";

class Node {
  constructor(text = "") { [this.parent, this.children, this.textOwn] = [undefined, [], text]; }
  get textContent() { return this.textOwn + this.children.map((one) => one.textContent).join(""); }
}

class Element extends Node {
  constructor(tag) {
    super();
    this.tag = tag;
    this.attributes = {};
    this.listeners = {};
    this.changes = 0;
    this.classList = { toggle: () => {}, contains: () => false };
  }
  get id() { return this.attributes.id; }
  get childNodes() { return this.children; }
  get textContent() { return super.textContent; }
  set textContent(text) { this.replaceChildren(text); }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  addEventListener(name, act) { this.listeners[name] = act; }
  click() { return this.listeners.click({}); }
  insert(index, added) {
    this.changes += 1;
    for (const one of [...added]) one.remove?.();
    const nodes = added.map((one) => (one instanceof Node ? one : new Node(String(one))));
    this.children.splice(index, 0, ...nodes);
    for (const one of nodes) one.parent = this;
  }
  append(...added) { if (added.length) this.insert(this.children.length, added); }
  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((one) => one !== this);
    this.parent = undefined;
  }
  before(one) { one.remove(); this.parent.insert(this.parent.children.indexOf(this), [one]); }
  insertBefore(one, old) { if (old) old.before(one); else this.append(one); }
  replaceWith(one) { this.before(one); this.remove(); }
  replaceChildren(...added) { this.children = []; this.insert(0, added); }
  get outline() { return JSON.stringify([this.tag, this.attributes, this.children.map((one) => one.outline ?? one.textOwn)]); }
  isEqualNode(other) { return this.outline === other.outline; }
  cloneNode() {
    const copy = Object.assign(new Element(this.tag), { attributes: { ...this.attributes } });
    copy.append(...this.children.map((one) => (one.tag ? one.cloneNode() : one.textOwn)));
    return copy;
  }
  matches(selector) { return selector === "[role=status]" && this.attributes.role === "status"; }
  get descendants() { return this.children.flatMap((one) => [one, ...(one.descendants ?? [])]).filter((one) => one.tag); }
  querySelectorAll() { return this.descendants.filter(({ tag, attributes }) => tag === "details" && "open" in attributes); }
  all(tag) { return this.descendants.filter((one) => one.tag === tag); }
  focus() {}
}

/**
 * Start a browser at an address of the page.
 *
 * `answer` gets the path and the parameters of each request, and returns JSON, or the number of a status.
 */
export function startBrowser(answer, search = "") {
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.parse("2026-11-27T12:00:00Z") });
  const [page, requests] = [new Element("main"), []];
  let running = 0;
  page.setAttribute("id", "page");
  Object.assign(globalThis, {
    requestAnimationFrame: (act) => { queueMicrotask(act); return 1; },
    localStorage: { getItem: () => null }, IntersectionObserver: class { observe() {} unobserve() {} },
    document: {
      baseURI: "http://airflow/spark-view/", hidden: false, activeElement: null, documentElement: new Element("html"),
      createElement: (tag) => new Element(tag), createElementNS: (_, tag) => new Element(tag),
      getElementById: (id) => (id === "page" ? page : page.descendants.find((one) => one.id === id)),
      addEventListener: () => {},
    },
    fetch: async (address) => {
      const path = decodeURIComponent(address.pathname.replace("/api/v2/dags/", ""));
      requests.push(path);
      started.most = Math.max(started.most, running += 1);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      const found = answer(path, address.searchParams);
      return { ok: typeof found !== "number", status: found, json: async () => structuredClone(found) };
    },
  });
  globalThis.window = { innerWidth: 1000, location: { search }, parent: { document: globalThis.document } };
  document.documentElement.style = {};
  window.parent = Object.assign(window, { document: globalThis.document });
  const started = {
    page, requests,
    /** The largest number of requests at once. */
    most: 0,
    /** Wait until the page has handled the answers. */
    settle: async () => { for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve)); },
    advance(seconds) { mock.timers.tick(seconds * 1000); return this.settle(); },
    stop: () => mock.timers.reset(),
  };
  return started;
}
