/** The mesh as a picture: peers are nodes, active rules edges with their ports. */
import { arrange } from "./arrange.js";
import cytoscape from "cytoscape";

/** These colours are the same in light and dark mode. All others come from the page's style. */
const COLOURS = { online: "#2f9e44", lags: "#f08c00", offline: "#868e96", broken: "#e03131" };

/** Cytoscape's style, in the page's current colours. */
function styleOf(container) {
  const colour = (name) => getComputedStyle(container).getPropertyValue(name).trim();
  const [paper, ink, line] = ["--paper", "--ink", "--line-strong"].map(colour);
  const chosen = colour("--link");
  return [
    {
      selector: "node",
      style: {
        "background-color": (node) => COLOURS[node.data("state")] ?? paper,
        ...slices((state) => COLOURS[state] ?? paper),
        "border-color": line,
        "border-style": (node) => node.data("state") === "absent" ? "dashed" : "solid",
        "border-width": 1,
        "color": ink,
        "font-size": 15,
        "height": 16,
        "label": "data(label)",
        "min-zoomed-font-size": 6,
        "text-background-color": paper,
        "text-background-opacity": 0.7,
        "text-halign": "data(side)",
        "text-margin-x": (node) => ({ left: -3, right: 3, center: 0 })[node.data("side")],
        "text-valign": (node) => node.data("isHub") ? "bottom" : "center",
        "width": 16,
      },
    },
    { selector: "node[?isHub]", style: { "font-weight": "bold", "height": 26, "width": 26 } },
    { selector: "node[?prefix]", style: { "height": 34, "width": 34 } },
    {
      selector: "edge",
      style: {
        "arrow-scale": 0.9,
        "color": ink,
        "curve-style": "bezier",
        "font-size": 10,
        "label": "data(label)",
        "line-color": line,
        "min-zoomed-font-size": 11,
        "target-arrow-color": line,
        "target-arrow-shape": "triangle",
        "text-background-color": paper,
        "text-background-opacity": 0.85,
        "text-rotation": "autorotate",
        "text-wrap": "wrap",
        "width": 1,
      },
    },
    {
      selector: "edge[?isBroken]",
      style: {
        "line-color": COLOURS.broken,
        "line-style": "dashed",
        "target-arrow-color": COLOURS.broken,
      },
    },
    { selector: ".apart", style: { opacity: 0.15 } },
    {
      selector: "edge.near",
      style: { "font-size": 11, "line-color": chosen, "min-zoomed-font-size": 5, "width": 2 },
    },
    { selector: "node.open", style: { "border-color": chosen, "border-width": 4 } },
  ];
}

const STATES = ["online", "lags", "offline", "never", "absent"];

/** A group as a pie of the states of its agents. */
function slices(colourOf) {
  return Object.fromEntries(STATES.flatMap((state, index) => [
    [`pie-${index + 1}-background-color`, colourOf(state)],
    [`pie-${index + 1}-background-size`, (node) => node.data("shares")?.[state] ?? 0],
  ]));
}

/** How many agents a node has, and how many of them are online. */
export function countsOf(states) {
  const count = Object.values(states).reduce((sum, number) => sum + number, 0);
  return { count, online: (states.online ?? 0) + (states.lags ?? 0) };
}

const LARGEST_ZOOM = 1.4;

/** A picture in a container; `onOpen` is told which node was clicked. */
export function createPicture(container, { onOpen }) {
  const cy = cytoscape({
    container,
    style: styleOf(container),
    minZoom: 0.05,
    maxZoom: 4,
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener(
    "change",
    () => cy.style(styleOf(container)),
  );
  cy.on(
    "tap",
    "node",
    ({ target }) => onOpen({ id: target.id(), prefix: target.data("prefix") }),
  );
  let drawn = "";
  let opened = "";

  function draw({ nodes, edges }) {
    const positions = arrange({
      nodes: nodes.map((node) => ({ agent_id: node.id, label: dataOf(node).label })),
      edges: edges.map(({ from, to }) => ({ from_agent: from, to_agent: to })),
    }, cy.width() / cy.height());
    cy.elements().remove();
    cy.add([
      ...nodes.map((node) => {
        const { x, y, side, isHub } = positions.get(node.id);
        return { data: { ...dataOf(node), side, isHub }, position: { x, y } };
      }),
      ...edges.map((edge) => ({
        data: { id: edgeId(edge), source: edge.from, target: edge.to, ...edgeDataOf(edge) },
      })),
    ]);
    cy.fit(undefined, 20);
    if (cy.zoom() > LARGEST_ZOOM) {
      cy.zoom(LARGEST_ZOOM);
      cy.center();
    }
  }

  function select(agentId) {
    opened = agentId;
    cy.elements().removeClass("apart near open");
    const node = cy.getElementById(agentId);
    if (agentId === "" || node.empty()) return;
    cy.elements().not(node.closedNeighborhood()).addClass("apart");
    node.connectedEdges().addClass("near");
    node.addClass("open");
  }

  return {
    /** Draws the current mesh. Arranges it again if a node or an edge appeared or disappeared. */
    show({ nodes, edges }) {
      const shape = JSON.stringify([
        nodes.map(({ id }) => id),
        edges.map(({ from, to }) => [from, to]),
      ]);
      if (shape !== drawn) draw({ nodes, edges });
      drawn = shape;
      for (const node of nodes) cy.getElementById(node.id).data(dataOf(node));
      for (const edge of edges) cy.getElementById(edgeId(edge)).data(edgeDataOf(edge));
      select(opened);
    },
    /** Highlights an agent and what is around it; "" shows everything alike. */
    select,
  };
}

function dataOf({ id, prefix, states }) {
  if (prefix === null) {
    return { id, prefix, label: id, state: Object.keys(states)[0], shares: null };
  }
  const { count, online } = countsOf(states);
  const shares = Object.fromEntries(
    Object.entries(states).map(([state, number]) => [state, 100 * number / count]),
  );
  return { id, prefix, label: `${prefix}* (${online} of ${count})`, state: null, shares };
}

/** The edge's label: the ports and, below them, what is known about the path. */
function edgeDataOf({ ports, path, isBroken }) {
  return { label: path === "" ? ports : `${ports}\n${path}`, isBroken };
}

/** Identifies a pair of nodes. */
function edgeId({ from, to }) {
  return JSON.stringify([from, to]);
}
