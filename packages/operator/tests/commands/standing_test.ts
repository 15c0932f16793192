/** Standing grants, and the grants that they made, as the operator sees them. */
import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../../../tests/conformance/artifacts.ts";
import { succeed } from "../../../../tests/conformance/client.ts";
import { createStanding } from "../../../../tests/operations/artifacts/standing/standing.ts";
import { withForms } from "../dashboard/forms.ts";
import { printed, rows } from "./run_report.ts";

artifactTest(
  "agentops grants and the dashboard → which standing grant made a grant; agentops events → when that was made and ended",
  async ({ planner, builder }) => {
    const { standing_id } = await createStanding(planner, { prefix: "a", to_agent: builder.id });
    await publish(planner, { key: "a" });
    await grant(planner, await publish(planner, { key: "b" }), { to: builder });
    const listed = await rows<{ key: string; standing_id?: string }>("grants", "--of", planner.id);
    assert.deepEqual(
      new Map(listed.map((row) => [row.key, row.standing_id])),
      new Map([["a", standing_id], ["b", undefined]]),
    );
    const table = await printed("grants", "--of", planner.id);
    assert.equal(table.split("\n").filter((line) => line.includes(standing_id)).length, 1);
    await withForms(async (forms) => {
      const { text } = await forms.open(`agents/${planner.id}`);
      assert.equal(text.split(`title="${standing_id}"`).length, 2, text);
    });

    await succeed("/agent-artifacts/standing/end", { as: planner, body: { standing_id } });
    const types = ["--type", "standing.created", "--type", "standing.ended"];
    const told = await rows("events", "--agent", builder.id, ...types);
    assert.deepEqual(
      told.map((event) => [event["type"], event["standing_id"], event["from_agent"]]),
      [
        ["standing.created", standing_id, planner.id],
        ["standing.ended", standing_id, planner.id],
      ],
    );
    assert.deepEqual(await rows("grants", "--to", builder.id).then((left) => left.length), 1);
  },
);
