import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";

const SCRIPT = "minimal-mesh-agent.sh";
const TRAP = /^\w+=\$'.*\n(#.*\n)?trap .* TERM INT$/m;
/** A signal during a command, and a signal before the output of a command substitution is read. */
const LOOPS = [`sleep 0.01; kill "$$"; true`, `echo "$(kill "$$")$(true)"`];

for (const loop of LOOPS) {
  Deno.test(`SIGTERM to ${SCRIPT} by ${loop} → it ends with 0, in silence`, async () => {
    const [trap] = TRAP.exec(await Deno.readTextFile(join(PROJECT, "examples", SCRIPT)))!;
    // `|| true` disables set -e, as where the agents call their functions.
    const program = `set -e; trap 'echo left' EXIT; ${trap}\n{ ${loop}; echo lost; } || true`;
    const { code, stdout, stderr } = await new Deno.Command("bash", { args: ["-c", program] })
      .output();
    const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assert.deepEqual({ code, output, errors }, { code: 0, output: "left\n", errors: "" });
  });
}
