/** The page: fills its sections with what the server rendered, again when something happened. */
import { createPicture } from "./mesh.js";

const REFRESH_MILLISECONDS = 15_000;
/** What happens at once is shown at once, and not once each. */
const GATHER_MILLISECONDS = 500;

const state = document.querySelector("#state");
const picture = createPicture(document.querySelector("#picture"), {
  onOpen: (agentId) => location.hash = encodeURIComponent(agentId),
});
let agentsAfter = "";

/** The agent that the page's hash names, or "". */
function openAgent() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

/**
 * The document that a path answers. By XMLHttpRequest, whose documents have nothing that runs: what
 * is taken over from them is no script, whatever is in it.
 */
function load(path, parameters = {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", `${path}?${new URLSearchParams(parameters)}`);
    request.responseType = "document";
    request.onload = () =>
      request.status === 200
        ? resolve(request.response)
        : reject(new Error(`The dashboard answered ${request.status}.`));
    request.onerror = () => reject(new Error("The dashboard has ended: start it again."));
    request.send();
  });
}

/** Puts what a path answers in place of what the section of that name shows, where it differs. */
async function fill(name, parameters) {
  const target = document.querySelector(`[data-fragment="${name}"]`);
  const { body } = await load(name, parameters);
  if (body.innerHTML !== target.innerHTML) target.replaceChildren(...body.childNodes);
}

async function fillAgent() {
  const agent = openAgent();
  const target = document.querySelector('[data-fragment="agent"]');
  target.hidden = agent === "";
  picture.select(agent);
  if (agent === "") return target.replaceChildren();
  await fill("agent", { agent });
}

async function drawMesh() {
  const summary = document.querySelector("#summary");
  let mesh = await readMesh({});
  if (!mesh.complete && openAgent() !== "") mesh = await readMesh({ agent: openAgent() });
  picture.show(mesh);
  picture.select(openAgent());
  const peers = mesh.nodes.filter((node) => node.state !== "absent");
  const online = peers.filter((node) => node.state === "online" || node.state === "lags");
  summary.textContent = mesh.complete
    ? `${online.length} of ${peers.length} peers online`
    : "The mesh is larger than a picture: open an agent to see what is around it.";
}

async function readMesh(parameters) {
  const response = await fetch(`mesh?${new URLSearchParams(parameters)}`);
  if (!response.ok) throw new Error(await response.text());
  return await response.json();
}

async function fillAll() {
  try {
    await Promise.all([
      fill("agents", { after: agentsAfter }),
      fill("usage"),
      fill("events"),
      fillAgent(),
      drawMesh(),
    ]);
    state.textContent = "live";
    state.className = "live";
  } catch (error) {
    state.textContent = error.message;
    state.className = "broken";
  }
}

let isFilling = false;
let isOutOfDate = false;

/** Refreshes everything, and once more if something changed meanwhile. */
async function refresh() {
  isOutOfDate = true;
  if (isFilling) return;
  isFilling = true;
  while (isOutOfDate) {
    isOutOfDate = false;
    await fillAll();
  }
  isFilling = false;
}

let gathering;

function refreshSoon() {
  gathering ??= setTimeout(() => {
    gathering = undefined;
    refresh();
  }, GATHER_MILLISECONDS);
}

document.querySelector("#open").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = encodeURIComponent(new FormData(event.target).get("agent").trim());
});
document.querySelector("#agents").addEventListener("click", (event) => {
  const { after } = event.target.dataset;
  if (after === undefined) return;
  agentsAfter = after;
  refresh();
});
addEventListener("hashchange", refresh);
setInterval(() => document.hidden || refresh(), REFRESH_MILLISECONDS);
new EventSource("live").addEventListener("message", refreshSoon);
refresh();
