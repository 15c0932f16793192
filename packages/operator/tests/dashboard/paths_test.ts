import assert from "node:assert/strict";
import { succeed } from "../../../../tests/conformance/client.ts";
import { meshTest, pairUp } from "../../../../tests/conformance/mesh_cast.ts";
import { withForms } from "./forms.ts";

meshTest(
  "an agent's page and the picture → whether the path to its neighbour works, since when, by which way; never online alone",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const report = (via: string) =>
      Promise.all(
        [[alice, bob], [bob, alice]].map(([as, other]) =>
          succeed("/agent-mesh/peer/heartbeat", {
            as: as!,
            body: {
              paths: [{ agent_id: other!.id, via, endpoint: null, handshake_age_seconds: 5 }],
            },
          })
        ),
      );
    await withForms(async (forms) => {
      const edges = async () => {
        const { text } = await forms.open(
          `picture/mesh?${new URLSearchParams({ agent: alice.id })}`,
        );
        const { edges, paths, working } = JSON.parse(text);
        return [
          edges.map((edge: { path: string; isBroken: boolean }) => [edge.path, edge.isBroken])[0],
          paths,
          working,
        ];
      };
      const page = async () => (await forms.open(`agents/${alice.id}`)).text;

      // Both agents are registered, but have not sent a heartbeat.
      assert.match(await page(), /does not work: both are offline/);
      await report("none");
      assert.match(
        await page(),
        /does not work since [^<]* UTC: both are behind NAT, and no relay is set/,
      );
      assert.deepEqual(await edges(), [["does not work", true], 1, 0]);
      await report("direct");
      assert.match(await page(), /works directly since [^<]* UTC/);
      assert.deepEqual(await edges(), [["directly", false], 1, 1]);
    });
  },
);
