/** `agentfiles mesh path` writes another endpoint while a request of the reference agent waits. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

const AGENT = join(PROJECT, "examples/mesh-agent");

/**
 * Starts a request that never gets an answer. The agent looks after its host only every 10 minutes,
 * by which time the test is over, so only the changed file can end the request.
 */
const PROGRAM = `
set -euo pipefail
INTERFACE=mesh0 CONFIG_DIR=$PWD WORK=$PWD LOOK_SECONDS=600
MESH_URL=http://127.0.0.1 AGENT_KEY_FILE=/dev/null AGENT_ID=planner POLL_SECONDS=
source "$0/host/endpoints.sh"
source "$0/service.sh"
bounded_curl() { exec sleep 600; }
look_after_host() { echo "looked after"; find_path_endpoints; }
is_as_told() { return 1; }
listen_port() { echo 51820; }
ENDPOINT= own_endpoint=
: >mesh0.path.lock
printf 'endpoint 192.0.2.1:4\\n' >mesh0.path
read_path_file path_text
{ sleep 2; printf 'endpoint 192.0.2.2:4\\n' >mesh0.part; mv mesh0.part mesh0.path; } &
request /wait "{}" 140 || true
echo "$was_cut $path_endpoints"
`;

Deno.test("it writes another endpoint while a request waits → the request ends, and the endpoint is known", async () => {
  const folder = await Deno.makeTempDir({ prefix: "path-file-" });
  try {
    const { code, output, errors } = await runProgram("timeout", {
      args: ["60", "bash", "-c", PROGRAM, AGENT],
      cwd: folder,
    });
    assert.deepEqual([code, errors], [0, ""]);
    assert.equal(output, "looked after\nyes 192.0.2.2:4 \n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("it forwards one peer more → that one is greeted again; another endpoint of its own → nobody", async () => {
  const folder = await Deno.makeTempDir({ prefix: "path-file-" });
  const program = `
set -euo pipefail
INTERFACE=mesh0 CONFIG_DIR=$PWD RUN_DIR=$PWD FIREWALL=none
source "$0/host/tunnel.sh"
source "$0/host/endpoints.sh"
mkdir "$WORK"
greet_again() { echo "after $1: all but" $(<"$WORK/known"); }
printf '%s\\n' a= b= c= >"$WORK/known"
path_text_before=$'endpoint 192.0.2.1:4\\npeer a= 127.0.0.1:4000 none - -\\n'
path_text=\${path_text_before}$'peer b= 127.0.0.1:4001 none - -\\n'
greet_forwarded_peers
path_text_before=$path_text
path_text+=$'endpoint 192.0.2.2:4\\n'
greet_forwarded_peers
`;
  try {
    const { code, output, errors } = await runProgram("bash", {
      args: ["-c", program, AGENT],
      cwd: folder,
    });
    assert.deepEqual([code, errors], [0, ""]);
    assert.equal(output, "after 2: all but a= c=\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
