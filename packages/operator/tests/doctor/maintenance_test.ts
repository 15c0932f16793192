import assert from "node:assert/strict";
import { Deployment, remedyIn } from "./deployment.ts";

Deno.test("doctor of a function with MAINTENANCE=true → a note that says so; of a function whose document cannot be read → that it cannot be read, not that it is of another checkout", async () => {
  await using deployment = await Deployment.open();
  for (const name of ["agent-artifacts", "agent-mesh"] as const) {
    const environment = { MAINTENANCE: "true" };
    const [closed, ...others] = await deployment.complaintsWith({ name, environment });
    assert.deepEqual([closed?.check, closed?.level, others], [name, "note", []]);
    assert.match(
      closed!.message,
      /^The function serves nobody but the operator: MAINTENANCE is set\.$/,
    );
    assert.match(remedyIn(closed!), / secrets unset MAINTENANCE$/);

    const [unread, ...more] = await deployment.complaintsThrough(({ path }) =>
      path === `/functions/v1/${name}/openapi.json`
        ? Response.json({ error: { code: "internal" } }, { status: 500 })
        : undefined
    );
    assert.deepEqual([unread?.check, unread?.level, more], [name, "fault", []]);
    assert.match(unread!.message, /^Its OpenAPI document could not be read: HTTP 500/);
  }
});
