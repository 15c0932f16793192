/** The picture of the mesh, the summary of what is drawn, and the groups as links. */
import { countsOf, createPicture } from "./mesh.js";

/** Draws into `container`. If `data-agent` names an agent, draws only what is around that agent. */
export function createMesh(container) {
  const { agent } = container.dataset;
  const summary = document.querySelector("#summary");
  const groups = document.querySelector("#groups");
  const together = document.querySelector("#together");
  const picture = createPicture(container, {
    onOpen: (node) => {
      if (node.prefix === null) location.href = `../agents/${encodeURIComponent(node.id)}`;
      else location.hash = hashOf(node.prefix);
    },
  });

  return {
    async draw() {
      const prefix = openPrefix();
      const response = await fetch(`../picture/mesh?${new URLSearchParams({ agent, prefix })}`);
      if (!response.ok) throw new Error(await response.text());
      const mesh = await response.json();
      picture.show(mesh);
      picture.select(agent);
      const grouped = mesh.nodes.filter((node) => node.prefix !== null);
      together.hidden = prefix === "";
      together.href = hashOf("");
      summary.textContent = !mesh.complete
        ? "The mesh is too large to draw: an agent's page shows its neighbours."
        : `${mesh.online} of ${mesh.peers} peers online.${
          mesh.paths > 0 ? ` ${mesh.working} of ${mesh.paths} paths work.` : ""
        }${grouped.length > 0 ? " Agents whose names begin alike are drawn as one." : ""}`;
      container.setAttribute("aria-label", `picture of the mesh: ${summary.textContent}`);
      listGroups(groups, grouped);
    },
  };
}

/** Lists the drawn groups as links, for people who do not use a pointer. */
function listGroups(list, grouped) {
  const entries = grouped.map(({ prefix, states }) => {
    const { count, online } = countsOf(states);
    return { href: hashOf(prefix), text: `${prefix}* – ${online} of ${count} online` };
  });
  const shown = Array.from(list.querySelectorAll("a"), ({ hash, textContent }) => ({
    href: hash,
    text: textContent,
  }));
  if (JSON.stringify(shown) === JSON.stringify(entries)) return;
  const focused = Array.from(list.querySelectorAll("a")).indexOf(document.activeElement);
  list.replaceChildren(...entries.map(({ href, text }) => {
    const entry = document.createElement("li");
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    entry.append(link);
    return entry;
  }));
  if (focused >= 0) list.querySelectorAll("a")[focused]?.focus({ preventScroll: true });
}

/** Such as `#/web-`. The slash keeps it apart from hashes that name an element of the page. */
function hashOf(prefix) {
  return `#/${encodeURIComponent(prefix)}`;
}

/** The prefix that the page's hash names, or "". */
function openPrefix() {
  if (!location.hash.startsWith("#/")) return "";
  try {
    return decodeURIComponent(location.hash.slice(2));
  } catch {
    return "";
  }
}
