/** Keeps an open page up to date: fetches it again after an event, and at regular intervals. */
import { createMesh } from "./mesh_view.js";

const REFRESH_MILLISECONDS = 15_000;
/** Events within this time cause one refresh together. */
const GATHER_MILLISECONDS = 500;
/**
 * The pause after a refresh is this many times as long as the refresh. So even if events never end,
 * refreshing takes at most a third of the time.
 */
const REST_FACTOR = 2;

const state = document.querySelector("#state");
const picture = document.querySelector("#picture");
const mesh = picture === null ? null : createMesh(picture);

/**
 * Fetches a path as a document. In a document from XMLHttpRequest no script runs, so nothing that
 * is copied from it can run as one.
 */
function load(path) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", path);
    request.responseType = "document";
    request.onload = () =>
      request.status === 200
        ? resolve(request.response)
        : reject(new Error(`The dashboard answered ${request.status}.`));
    request.onerror = () => reject(new Error("The dashboard has ended: start it again."));
    request.send();
  });
}

/** Replaces the page's parts by their current state. Keeps the focus and the scroll positions. */
async function fillPage() {
  const { pathname, search } = location;
  const fresh = await load(pathname + search);
  for (const target of document.querySelectorAll("[data-fragment]")) {
    const source = fresh.querySelector(`[data-fragment="${target.dataset.fragment}"]`);
    if (source === null || source.innerHTML === target.innerHTML) continue;
    const back = focusIn(target);
    const scrolled = Array.from(target.querySelectorAll(".scroll"), (element) => [
      element.scrollLeft,
      element.scrollTop,
    ]);
    target.replaceChildren(...source.childNodes);
    for (const [index, element] of target.querySelectorAll(".scroll").entries()) {
      [element.scrollLeft, element.scrollTop] = scrolled[index] ?? [0, 0];
    }
    back();
  }
}

/** Returns a function that restores the focus in `target` after its children were replaced. */
function focusIn(target) {
  const { activeElement } = document;
  if (!target.contains(activeElement)) return () => {};
  const places = () => Array.from(target.querySelectorAll("a, [tabindex]"));
  const nameOf = (element) => element.getAttribute("href") ?? element.getAttribute("aria-label");
  const name = nameOf(activeElement);
  const which = places().filter((element) => nameOf(element) === name).indexOf(activeElement);
  return () =>
    places().filter((element) => nameOf(element) === name).at(which)?.focus({
      preventScroll: true,
    });
}

async function fillAll() {
  try {
    await Promise.all([fillPage(), mesh?.draw()]);
    state.textContent = "live";
    state.className = "live";
  } catch (error) {
    state.textContent = error.message;
    state.className = "broken";
  }
}

let fillMilliseconds = 0;
let isFilling = false;
let isOutOfDate = false;

/** Refreshes everything, and once more if something changed during the refresh. */
async function refresh() {
  isOutOfDate = true;
  if (isFilling) return;
  isFilling = true;
  while (isOutOfDate) {
    isOutOfDate = false;
    const begun = performance.now();
    await fillAll();
    fillMilliseconds = performance.now() - begun;
  }
  isFilling = false;
}

let gathering;

function refreshSoon() {
  gathering ??= setTimeout(() => {
    gathering = undefined;
    refresh();
  }, Math.max(GATHER_MILLISECONDS, REST_FACTOR * fillMilliseconds));
}

let events;

/** A browser opens only a few connections to one host, so a hidden page must not hold one. */
function listenWhileSeen() {
  if (document.hidden) {
    events?.close();
    events = undefined;
    return;
  }
  if (events !== undefined) return;
  events = new EventSource("../live/events");
  events.addEventListener("message", refreshSoon);
}

/** A panel asks all parts of the deployment, which is slow. So it is loaded only when opened. */
async function openPanel(details) {
  const target = details.querySelector("div");
  if (!details.open) return;
  target.textContent = "looking …";
  try {
    const fresh = await load(`../panels/${details.dataset.panel}`);
    target.replaceChildren(...fresh.querySelector('[data-fragment="panel"]').childNodes);
  } catch (error) {
    target.textContent = error.message;
  }
}

for (const details of document.querySelectorAll("details[data-panel]")) {
  details.addEventListener("toggle", () => openPanel(details));
}
addEventListener("hashchange", refresh);
setInterval(() => document.hidden || refresh(), REFRESH_MILLISECONDS);
document.addEventListener("visibilitychange", listenWhileSeen);
listenWhileSeen();
refresh();
