import { defineOperation, type Operation } from "../command.ts";
import { readConnection } from "../connection/connection.ts";
import { diagnose } from "./diagnose.ts";
import { describeFindings, isHealthy } from "./findings/finding.ts";

export const doctor: Operation = defineOperation({
  summary: "Show what is wrong with a deployment, and how to fix it. Exits with 1 at a fault.",
  example: "agentops doctor",
  async run(_parsed, output) {
    const findings = await diagnose(await readConnection());
    const healthy = isHealthy(findings);
    await output.value({ healthy, findings }, () => describeFindings(findings));
    return healthy ? 0 : 1;
  },
});
