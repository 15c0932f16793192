import {
  artifactIdOf,
  GRANTEE,
  grantTokenOf,
  HOARDER,
  POPULAR,
  READER,
  RENAMER,
  sha256,
  WORKER,
} from "../fill/cast.ts";
import { addCommitted, addDeleted, addGrants, addUploaded, letTasksWait } from "./fresh_rows.ts";
import { type BenchOperation, type FilledStack, freshNumbers, inAnHour } from "./operations.ts";

const KIBIBYTE = new TextEncoder().encode("0123456789abcdef".repeat(64));
const KIBIBYTE_DIGEST = sha256(new TextDecoder().decode(KIBIBYTE));
/** How many dead objects one call of /sweep finds. */
const DEAD = 5;
const WINDOW_SECONDS = 60;

/** One of ninety of the hoarder's artifacts. Consecutive numbers give different ones. */
function hoarded(number: number): string {
  return artifactIdOf(10 * (number % 90) + 5);
}

function artifacts(
  name: string,
  operation: Omit<BenchOperation, "name" | "functionName">,
): BenchOperation {
  return { name, functionName: "agent-artifacts", ...operation };
}

function same(call: Awaited<ReturnType<BenchOperation["calls"]>>[number]) {
  return (_filled: FilledStack, count: number) => Promise.resolve(Array(count).fill(call));
}

export const ARTIFACT_OPERATIONS: readonly BenchOperation[] = [
  artifacts("/register", {
    floor: { kind: "rpc-and-upload-url", rpc: "register_artifact" },
    calls: (_filled, count) =>
      Promise.resolve(
        freshNumbers(count).map((number) => {
          const file = {
            agent_id: HOARDER,
            key: `new/${number}`,
            mime: "text/plain",
            size: 100,
            ttl_days: 1,
          };
          return {
            agent: HOARDER,
            body: file,
            parameters: {
              ...file,
              artifact_id: `art_${crypto.randomUUID().replaceAll("-", "")}`,
              quota_bytes: 1e15,
              max_pending: 1e6,
              max_artifacts: 1e9,
            },
          };
        }),
      ),
  }),
  artifacts("/commit of 1 KiB", {
    floor: null,
    maxCalls: 200,
    async calls(filled, count) {
      const ids = await addUploaded(filled, freshNumbers(count), KIBIBYTE);
      return ids.map((artifact_id) => ({
        agent: HOARDER,
        body: { artifact_id, sha256: KIBIBYTE_DIGEST },
      }));
    },
  }),
  artifacts("/grant", {
    floor: { kind: "rpc", rpc: "grant_artifact" },
    calls: (_filled, count) =>
      Promise.resolve(
        freshNumbers(count).map((number) => {
          const given = {
            artifact_id: hoarded(number),
            to_agent: `friend-${number}`,
            expires_at: inAnHour(),
          };
          return { agent: HOARDER, body: given, parameters: { ...given, ...newGrant() } };
        }),
      ),
  }),
  artifacts("/grant beside ended ones", {
    floor: null,
    // No more grants than an artifact may have at a time.
    maxCalls: 60,
    calls: (_filled, count) =>
      Promise.resolve(
        freshNumbers(count).map(() => ({
          agent: HOARDER,
          body: {
            artifact_id: artifactIdOf(POPULAR),
            to_agent: GRANTEE,
            expires_at: new Date(Date.now() + 60_000).toISOString(),
          },
        })),
      ),
  }),
  artifacts("/revoke", {
    floor: { kind: "rpc", rpc: "revoke_grants" },
    async calls(filled, count) {
      const agents = freshNumbers(count).map((number) => `foe-${number}`);
      await addGrants(filled, artifactIdOf(3), agents);
      return agents.map((to_agent) => {
        const taken = { artifact_id: artifactIdOf(3), to_agent };
        return { agent: HOARDER, body: taken, parameters: { ...taken, grant_id: null } };
      });
    },
  }),
  artifacts("/revoke beside ended ones", {
    floor: null,
    calls: same({
      agent: HOARDER,
      body: { artifact_id: artifactIdOf(POPULAR), to_agent: GRANTEE },
    }),
  }),
  artifacts("/fetch", {
    floor: { kind: "rpc-and-download-url", rpc: "redeem_grant_token" },
    calls: (_filled, count) =>
      Promise.resolve(Array.from({ length: count }, (_, index) => {
        // Grants with an even index have no download limit.
        const grant_token = grantTokenOf(2 * (index % 25));
        return {
          agent: HOARDER,
          body: { grant_token },
          parameters: {
            caller: { kind: "grant_token", request_id: crypto.randomUUID() },
            token_hash: sha256(grant_token),
            window_seconds: WINDOW_SECONDS,
          },
        };
      })),
  }),
  artifacts("/open", {
    floor: { kind: "rpc-and-download-url", rpc: "open_artifact" },
    calls: (_filled, count) =>
      Promise.resolve(Array.from({ length: count }, (_, index) => {
        const artifact_id = hoarded(index);
        return {
          agent: HOARDER,
          body: { artifact_id },
          parameters: { artifact_id, window_seconds: WINDOW_SECONDS },
        };
      })),
  }),
  artifacts("/list of 100", {
    floor: { kind: "rpc", rpc: "list_artifacts" },
    calls: same({
      agent: HOARDER,
      body: { agent_id: HOARDER, prefix: "files/", limit: 100 },
      parameters: { agent_id: HOARDER, prefix: "files/", max_entries: 100, after_key: null },
    }),
  }),
  artifacts("/list behind ended keys", {
    floor: null,
    calls: same({ agent: RENAMER, body: { agent_id: RENAMER } }),
  }),
  artifacts("/inbox of 50", {
    floor: { kind: "rpc", rpc: "list_inbox" },
    calls: same({
      agent: READER,
      body: { agent_id: READER, limit: 50 },
      parameters: { agent_id: READER, max_entries: 50, after_grant_id: null },
    }),
  }),
  artifacts("/inbox beside ended ones", {
    floor: null,
    calls: same({ agent: GRANTEE, body: { agent_id: GRANTEE, limit: 50 } }),
  }),
  artifacts("/inbox/take beside done ones", {
    floor: null,
    maxCalls: 20,
    async calls(filled, count) {
      await letTasksWait(filled);
      return Array(count).fill({ agent: WORKER, body: { seconds: 3600 } });
    },
  }),
  artifacts("/delete", {
    floor: { kind: "rpc", rpc: "delete_artifact" },
    async calls(filled, count) {
      const ids = await addCommitted(filled, freshNumbers(count));
      return ids.map((artifact_id) => ({
        agent: HOARDER,
        body: { artifact_id },
        parameters: { artifact_id },
      }));
    },
  }),
  artifacts("/sweep of 5 dead", {
    floor: null,
    oneByOne: true,
    maxCalls: 7,
    async calls(filled) {
      await addDeleted(filled, freshNumbers(DEAD));
      return [{ agent: null, body: {} }];
    },
  }),
  fsckPage("list_artifacts_without_bytes"),
  fsckPage("list_objects_without_artifact", { after: "sealed/" }),
  fsckPage("list_shares_of_artifacts"),
  fsckPage("list_shares_of_grants"),
  fsckPage("list_totals", { max_entries: 10 }),
];

/** One page of `agentops fsck`, which asks PostgREST. The page is full even on the small stack. */
function fsckPage(rpc: string, { after = "", max_entries = 1000 } = {}): BenchOperation {
  return artifacts(`fsck: ${rpc}`, {
    path: `/rest/v1/rpc/agent_api_${rpc}`,
    floor: null,
    maxCalls: 10,
    calls: same({ agent: null, body: { max_entries, after } }),
  });
}

function newGrant() {
  return {
    grant_id: `grant_${crypto.randomUUID().replaceAll("-", "")}`,
    token_hash: sha256(crypto.randomUUID()),
    max_live_grants: 1000,
  };
}
