import { runOperatorCommand } from "../operator_command.ts";
import { readConnection } from "../operator_call.ts";
import { diagnose } from "./diagnose.ts";
import { describeFindings, isHealthy } from "./findings/finding.ts";

await runOperatorCommand({
  task: "doctor",
  summary: "Say what is wrong with a deployment, and what mends it. Exits with 1 at a fault.",
  usage: "",
  help: {},
  example: "deno task doctor",
  options: {},
  async run(_parsed, output) {
    const findings = await diagnose(await readConnection());
    const healthy = isHealthy(findings);
    await output.value({ healthy, findings }, () => describeFindings(findings));
    if (!healthy) Deno.exit(1);
  },
});
