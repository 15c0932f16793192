import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { AgentFiles } from "../../../clients/typescript/src/index.ts";
import type { RestorableStack } from "./restorable_stack.ts";

const MESH = "/functions/v1/agent-mesh";
const FILES = "/functions/v1/agent-artifacts";

/** Registers the peer of an agent, with a new public key. */
export async function registerPeer(exercise: RestorableStack, agent_id: string): Promise<void> {
  const pubkey = createHash("sha256").update(randomBytes(32)).digest();
  pubkey[31]! &= 127;
  await exercise.ask(`${MESH}/peer/register`, { agent_id, pubkey: pubkey.toString("base64") });
}

interface Change {
  /** Makes the change after the backup. */
  readonly make: () => Promise<unknown>;
  /** What `after-restore` prints about the change, after the time. */
  readonly told: string;
  /** Whether the database contains the change. */
  readonly isThere: () => Promise<boolean>;
}

/**
 * One change of each kind that deletes or replaces something. The restored database does not
 * contain it. Needs the peers alpha and beta, with a rule between them.
 */
export async function arrangeLostChanges(
  exercise: RestorableStack,
  planner: string,
): Promise<readonly Change[]> {
  const keyFor = async (agent_id: string): Promise<string> =>
    (await exercise.ask("/rest/v1/rpc/agent_api_create_agent_key", { agent_id })).key;
  const reader = await keyFor("reader");
  const files = new AgentFiles({ url: exercise.stack.url, key: planner });
  const [deleted, replaced, shared] = [
    await files.put("deleted.txt", "deleted"),
    await files.put("replaced.txt", "older"),
    await files.put("shared.txt", "shared", { to: ["reader"] }),
  ];
  await files.put("hidden.txt", "hidden", { to: ["reader"] });
  const rule = { from_agent: "beta", to_agent: "alpha", proto: "tcp", port: 8443 };
  await exercise.ask(`${MESH}/acl/put`, rule);
  await registerPeer(exercise, "gamma");
  const listed = async (key: string) => {
    const { artifacts } = await exercise.ask(`${FILES}/list`, { prefix: key }, planner);
    return artifacts[0]?.artifact_id ?? null;
  };
  const pskWithBeta = async (): Promise<string> => {
    const { config } = await exercise.ask(`${MESH}/wg_config`, { agent_id: "alpha" });
    return /^PresharedKey = (.+)$/m.exec(config)![1]!;
  };
  const psk = await pskWithBeta();
  const ask = (path: string, body: object, key?: string) => () => exercise.ask(path, body, key);
  return [
    {
      make: () => files.remove("deleted.txt"),
      told: `/delete by planner: .*artifact_id ${deleted.artifact_id}`,
      isThere: async () => await listed("deleted.txt") === null,
    },
    {
      make: () => files.put("replaced.txt", "newer"),
      told: "/commit by planner: .*artifact_id art_",
      isThere: async () => await listed("replaced.txt") !== replaced.artifact_id,
    },
    {
      make: () => files.unshare("shared.txt", "reader"),
      told: `/revoke by planner: .*artifact_id ${shared.artifact_id}`,
      async isThere() {
        const body = { artifact_id: shared.artifact_id };
        return (await exercise.post(`${FILES}/open`, body, reader)).status === 404;
      },
    },
    {
      make: ask(`${FILES}/inbox/block`, { from_agent: "planner" }, reader),
      told: "/inbox/block by reader: .*from_agent planner",
      async isThere() {
        const { grants } = await exercise.ask(`${FILES}/inbox`, {}, reader);
        return !grants.some(({ key }: { key: string }) => key === "hidden.txt");
      },
    },
    {
      make: ask(`${MESH}/acl/revoke`, rule),
      told: "/acl/revoke by operator: from_agent beta, to_agent alpha",
      async isThere() {
        const { acls } = await exercise.ask(`${MESH}/netmap`, { agent_id: "alpha" });
        return !acls.some(({ port }: { port: number }) => port === rule.port);
      },
    },
    {
      make: ask(`${MESH}/psk/rotate`, { a: "alpha", b: "beta" }),
      told: "/psk/rotate by operator: a alpha, b beta",
      isThere: async () => await pskWithBeta() !== psk,
    },
    {
      make: ask(`${MESH}/peer/remove`, { agent_id: "gamma" }),
      told: "/peer/remove by operator: .*agent_id gamma",
      async isThere() {
        return (await exercise.post(`${MESH}/netmap`, { agent_id: "gamma" })).status === 404;
      },
    },
  ];
}

export async function assertThere(
  changes: readonly Change[],
  expected: boolean,
): Promise<void> {
  for (const { told, isThere } of changes) assert.equal(await isThere(), expected, told);
}
