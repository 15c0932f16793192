/** The mesh as a picture: peers are nodes, active rules edges with their ports. */
import { arrange } from "./arrange.js";
import cytoscape from "cytoscape";

const COLOURS = {
  online: "#2f9e44",
  lags: "#f08c00",
  offline: "#868e96",
  never: "#ffffff",
  absent: "#ffffff",
};

const STYLE = [
  {
    selector: "node",
    style: {
      "background-color": (node) => COLOURS[node.data("state")],
      "border-color": "#495057",
      "border-style": (node) => node.data("state") === "absent" ? "dashed" : "solid",
      "border-width": 1,
      "color": "#212529",
      "font-size": 15,
      "height": 16,
      "label": "data(id)",
      "min-zoomed-font-size": 6,
      "text-background-color": "#ffffff",
      "text-background-opacity": 0.7,
      "text-halign": "data(side)",
      "text-margin-x": (node) => ({ left: -3, right: 3, center: 0 })[node.data("side")],
      "text-valign": (node) => node.data("isHub") ? "bottom" : "center",
      "width": 16,
    },
  },
  { selector: "node[?isHub]", style: { "font-weight": "bold", "height": 26, "width": 26 } },
  {
    selector: "edge",
    style: {
      "arrow-scale": 0.9,
      "color": "#495057",
      "curve-style": "bezier",
      "font-size": 10,
      "label": "data(ports)",
      "line-color": "#ced4da",
      "min-zoomed-font-size": 11,
      "target-arrow-color": "#868e96",
      "target-arrow-shape": "triangle",
      "text-background-color": "#ffffff",
      "text-background-opacity": 0.85,
      "text-rotation": "autorotate",
      "width": 1,
    },
  },
  { selector: ".apart", style: { opacity: 0.15 } },
  {
    selector: "edge.near",
    style: { "font-size": 15, "line-color": "#1c7ed6", "min-zoomed-font-size": 5, "width": 2 },
  },
  { selector: "node.open", style: { "border-color": "#1c7ed6", "border-width": 4 } },
];

const LARGEST_ZOOM = 1.4;

/** A picture in a container; `onOpen` is told whose node was clicked. */
export function createPicture(container, { onOpen }) {
  const cy = cytoscape({
    container,
    style: STYLE,
    minZoom: 0.05,
    maxZoom: 4,
  });
  cy.on("tap", "node", ({ target }) => onOpen(target.id()));
  let drawn = "";
  let opened = "";

  function draw({ nodes, edges }) {
    const positions = arrange({ nodes, edges }, cy.width() / cy.height());
    cy.elements().remove();
    cy.add([
      ...nodes.map(({ agent_id, state }) => {
        const { x, y, side, isHub } = positions.get(agent_id);
        return { data: { id: agent_id, state, side, isHub }, position: { x, y } };
      }),
      ...edges.map((edge) => ({
        data: {
          id: edgeId(edge),
          source: edge.from_agent,
          target: edge.to_agent,
          ports: edge.ports,
        },
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
    /** Draws the current mesh. It is arranged again if a node or an edge appeared or disappeared. */
    show({ nodes, edges }) {
      const shape = JSON.stringify([
        nodes.map(({ agent_id }) => agent_id),
        edges.map(({ from_agent, to_agent }) => [from_agent, to_agent]),
      ]);
      if (shape !== drawn) draw({ nodes, edges });
      drawn = shape;
      for (const { agent_id, state } of nodes) cy.getElementById(agent_id).data({ state });
      for (const edge of edges) cy.getElementById(edgeId(edge)).data({ ports: edge.ports });
      select(opened);
    },
    /** Brings out what is around an agent; "": everything alike. */
    select,
  };
}

/** No agent's name has a blank, so that no node has this id. */
function edgeId({ from_agent, to_agent }) {
  return `${from_agent} ${to_agent}`;
}
