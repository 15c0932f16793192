import { runTask } from "../../packages/command/run_task.ts";
import { readConnection } from "../operator_call.ts";
import { diagnose } from "./diagnose.ts";
import { describeFindings, isHealthy } from "./findings/finding.ts";

await runTask({
  task: "doctor",
  summary: "Show what is wrong with a deployment, and how to fix it. Exits with 1 at a fault.",
  example: "deno task doctor",
  async run(_parsed, output) {
    const findings = await diagnose(await readConnection());
    const healthy = isHealthy(findings);
    await output.value({ healthy, findings }, () => describeFindings(findings));
    return healthy ? 0 : 1;
  },
});
