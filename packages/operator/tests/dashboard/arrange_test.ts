import assert from "node:assert/strict";
import { arrange } from "../../dashboard/assets/arrange.js";

interface Place {
  readonly x: number;
  readonly y: number;
  readonly side: "left" | "right" | "center";
}

interface Mesh {
  readonly nodes: readonly { readonly agent_id: string }[];
  readonly edges: readonly { readonly from_agent: string; readonly to_agent: string }[];
}

/** Hubs, each with `peersPerHub` peers around it. Some of these peers also reach the next hub. */
function meshOf({ hubs, peersPerHub }: { hubs: number; peersPerHub: number }): Mesh {
  const nodes: { agent_id: string }[] = [];
  const edges: { from_agent: string; to_agent: string }[] = [];
  for (let hub = 0; hub < hubs; hub++) {
    nodes.push({ agent_id: `database-${hub}` });
    for (let peer = 0; peer < peersPerHub; peer++) {
      const from_agent = `web-${hub}-${String(peer).padStart(3, "0")}`;
      nodes.push({ agent_id: from_agent });
      edges.push({ from_agent, to_agent: `database-${hub}` });
      if (peer % 7 === 0) edges.push({ from_agent, to_agent: `database-${(hub + 1) % hubs}` });
    }
  }
  return { nodes, edges };
}

function arranged(mesh: Mesh, aspect: number): ReadonlyMap<string, Place> {
  return arrange(mesh, aspect) as Map<string, Place>;
}

/** The area that a node and its name cover. */
function boxOf([agentId, { x, y, side }]: [string, Place]) {
  const name = 8 + agentId.length * 8;
  const [left, right] = side === "left" ? [x - name, x + 8] : [x - 8, x + name];
  return { left, right, top: y - 9, bottom: y + 9 };
}

Deno.test("200 peers around ten hubs → no name is on another one or on another one's node", () => {
  const positions = arranged(meshOf({ hubs: 10, peersPerHub: 19 }), 2);
  assert.equal(positions.size, 200);
  const boxes = Array.from(positions).filter(([, { side }]) => side !== "center").map(boxOf);
  const overlaps = boxes.flatMap((one, index) =>
    boxes.slice(index + 1).filter((other) =>
      one.left < other.right && other.left < one.right &&
      one.top < other.bottom && other.top < one.bottom
    )
  );
  assert.equal(overlaps.length, 0);
});

Deno.test("the same mesh in another order → the same picture", () => {
  const { nodes, edges } = meshOf({ hubs: 3, peersPerHub: 5 });
  const sorted = (mesh: Mesh) => [...arranged(mesh, 1.5)].sort();
  assert.deepEqual(
    sorted({ nodes: nodes.toReversed(), edges: edges.toReversed() }),
    sorted({ nodes, edges }),
  );
});

for (
  const [name, nodes, edges] of [
    ["no peer", [], []],
    ["one peer", ["alone"], []],
    ["peers without rules", ["one", "other"], []],
    ["a pair and one who only knows the pair's hub", ["a", "b", "c"], [["a", "b"], ["c", "b"]]],
  ] as const
) {
  Deno.test(`a mesh of ${name} → everybody has a place`, () => {
    const positions = arranged({
      nodes: nodes.map((agent_id) => ({ agent_id })),
      edges: edges.map(([from_agent, to_agent]) => ({ from_agent, to_agent })),
    }, 2);
    assert.deepEqual([...positions.keys()].sort(), [...nodes].sort());
    for (const { x, y } of positions.values()) assert.ok(Number.isFinite(x) && Number.isFinite(y));
  });
}
