/** The scenarios that the Python client passes, too, with the TypeScript client. */
import { AgentFiles } from "../../index.ts";
import { createAgent, SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { filesOf } from "../cast.ts";
import { assertOutcomes } from "./scenario.ts";
import { SCENARIOS } from "./table.ts";
import { runScenario } from "./typescript.ts";

for (const scenario of SCENARIOS) {
  Deno.test(`TypeScript: ${scenario.name}`, async () => {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    const ids = { planner: planner.id, builder: builder.id, "planner-2": `${planner.id}-2` };
    const outcomes = await runScenario(scenario, {
      planner: filesOf(planner),
      builder: filesOf(builder),
      stranger: new AgentFiles({ url: SUPABASE_URL, key: "ak_unknown" }),
    }, ids);
    assertOutcomes(scenario, outcomes, ids);
  });
}
