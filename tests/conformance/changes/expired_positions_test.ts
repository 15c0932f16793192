import assert from "node:assert/strict";
import { type Agent, assertError, type JsonObject, post, succeed } from "../client.ts";
import { artifactTest, grant, type InboxPage, publish } from "../artifacts.ts";

const OTHER_EPOCH = "0123456789ab";
/** A larger transaction id than any database reaches. */
const FUTURE = "9223372036854775807";

async function latestOf(agent: Agent, path: string): Promise<string> {
  return (await succeed<{ latest: string }>(path, { as: agent })).latest;
}

for (
  const [path, place, future] of [
    ["/agent-artifacts/inbox", "3:3:", `${FUTURE}:${FUTURE}:`],
    ["/agent-artifacts/events", "3.0", `${FUTURE}.0`],
    ["/agent-mesh/events", "3.0", `${FUTURE}.0`],
  ] as const
) {
  artifactTest(
    `${path} after a position of another epoch, of none, or of the future → 422 position_expired, also with wait_seconds; without it → what is there`,
    async ({ builder }) => {
      const latest = await latestOf(builder, path);
      const [epoch] = latest.split("-");
      for (const after of [`${OTHER_EPOCH}-${place}`, place, `${epoch}-${future}`]) {
        for (const wait of [{}, { wait_seconds: 5 }]) {
          const body: JsonObject = { after, ...wait };
          const answer = await post(path, { as: builder, body });
          assert.deepEqual(assertError(answer, 422, "position_expired"), { path: "after" });
        }
      }
      assert.equal((await latestOf(builder, path)).split("-")[0], epoch);
    },
  );
}

for (const service of ["/agent-artifacts", "/agent-mesh"]) {
  artifactTest(
    `${service}/wait after a position of another epoch, of none, or of the future → 422 position_expired, by its field`,
    async ({ builder }) => {
      const events = await latestOf(builder, "/agent-artifacts/events");
      const inbox = await latestOf(builder, "/agent-artifacts/inbox");
      const [epoch] = events.split("-");
      const expired = (place: string, future: string) => [
        `${OTHER_EPOCH}-${place}`,
        place,
        `${epoch}-${future}`,
      ];
      const wrong = [
        ...expired("3:3:", `${FUTURE}:${FUTURE}:`).map((inbox_after) => ({
          path: "inbox_after",
          body: { inbox_after, events_after: events },
        })),
        ...expired("3.0", `${FUTURE}.0`).map((events_after) => ({
          path: "events_after",
          body: { inbox_after: inbox, events_after },
        })),
      ];
      for (const { path, body } of wrong) {
        for (const wait of [{}, { wait_seconds: 5 }]) {
          const answer = await post(`${service}/wait`, { as: builder, body: { ...body, ...wait } });
          assert.deepEqual(assertError(answer, 422, "position_expired"), { path });
        }
      }
    },
  );
}

artifactTest(
  "/inbox with a cursor whose grant does not exist → 422 position_expired",
  async ({ planner, builder }) => {
    const { grant_id } = await grant(planner, await publish(planner), { to: builder });
    const cursor = `grant_${"0".repeat(32)}`;
    const answer = await post("/agent-artifacts/inbox", { as: builder, body: { cursor } });
    assert.deepEqual(assertError(answer, 422, "position_expired"), { path: "cursor" });
    const { grants } = await succeed<InboxPage>("/agent-artifacts/inbox", { as: builder });
    assert.deepEqual(grants.map((entry) => entry.grant_id), [grant_id]);
  },
);
