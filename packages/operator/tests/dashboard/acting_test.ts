/** Only the dashboard's own forms can make it change something, each form once. */
import assert from "node:assert/strict";
import { ActionTokens } from "../../dashboard/act/tokens.ts";
import {
  artifactTest,
  type Cast,
  grant,
  publish,
} from "../../../../tests/conformance/artifacts.ts";
import { type Agent, operatorRpc, SECRET_KEY, send } from "../../../../tests/conformance/client.ts";
import {
  agree,
  configOf,
  join,
  removePeer,
  ruleBetween,
} from "../../../../tests/conformance/mesh_cast.ts";
import { type Forms, type Target, withForms } from "./forms.ts";

/** Each action with a target that it would change, and the form's inputs. */
async function everyAction(
  { planner, builder, stranger }: Cast,
): Promise<readonly (readonly [action: string, target: Target, inputs?: Target])[]> {
  const artifact = await publish(planner, { key: "plans/house.txt" });
  const given = await grant(planner, artifact, { to: builder });
  for (const agent of [planner, builder]) await join(agent);
  await agree(ruleBetween(planner, builder));
  // Creates the PSK, because only an issued PSK can be rotated.
  await configOf(planner);
  const agent_id = planner.id;
  const rule = { from_agent: planner.id, to_agent: builder.id, proto: "tcp" };
  return [
    ["key.create", { agent_id }],
    ["key.revoke", { agent_id, key_id: planner.keyId }],
    ["keys.revoke", { agent_id: stranger.id }],
    ["grant.end", { grant_id: given.grant_id, artifact_id: artifact.artifact_id, agent_id }],
    ["grant.again", {
      artifact_id: artifact.artifact_id,
      from_agent: planner.id,
      to_agent: stranger.id,
      to_tag: "",
      expires_at: new Date(Date.now() + 600_000).toISOString(),
      max_downloads: "",
    }],
    ["rule.put", { ...rule, port: "22" }],
    ["rule.end", { ...rule, port: "443" }],
    ["psk.rotate", { a: planner.id, b: builder.id }],
    ["sender.block", { agent_id: builder.id, from_agent: planner.id }],
    ["sender.unblock", { agent_id: stranger.id, from_agent: planner.id }],
    ["agent.remove", { agent_id: builder.id }, {
      typed_name: builder.id,
      keep_artifacts: "no",
    }],
  ];
}

/** Everything about these agents that an action could change. */
async function everythingOf(agents: readonly Agent[]): Promise<unknown> {
  return await Promise.all(agents.map(async ({ id }) => {
    const [described, rules, grants] = await Promise.all([
      operatorRpc("read_agent", { agent_id: id }),
      operatorRpc("list_mesh_rules", { agent_id: id, max_entries: 100 }),
      operatorRpc("list_all_grants", { from_agent: id, max_entries: 100 }),
    ]);
    const { last_used_at: _, keys, ...told } = described.body as { [name: string]: unknown };
    // The time when a key was used is written after the answer, so it is left out.
    const states = (keys as { key_id: string; state: string }[]).map(({ key_id, state }) => [
      key_id,
      state,
    ]);
    return { told, states, rules: rules.body, grants: grants.body };
  }));
}

artifactTest(
  "every action, without a token, with that of another form or from elsewhere → 403, and nothing has changed",
  async (cast) => {
    const agents = Object.values(cast) as Agent[];
    try {
      const actions = await everyAction(cast);
      await withForms(async (forms: Forms) => {
        const before = await everythingOf(agents);
        const elsewhere = await forms.tokenOf("key.create", { agent_id: "somebody-else" });
        for (const [index, [action, target, inputs = {}]] of actions.entries()) {
          const [other, ofOther] = actions[(index + 1) % actions.length]!;
          const tokens = [
            "",
            "made-up",
            elsewhere,
            await forms.tokenOf(other, ofOther),
          ];
          for (const token of tokens) {
            const { status, text } = await forms.send(action, { ...target, ...inputs, token });
            assert.equal(status, 403, `${action} with ${token}`);
            assert.match(text, /Nothing was changed/);
          }
          const token = await forms.tokenOf(action, target);
          // A token for another target of the same action is refused.
          const [name] = Object.keys(target) as [string];
          const moved = { ...target, ...inputs, [name]: "somebody-else", token };
          assert.equal((await forms.send(action, moved)).status, 403, action);
          for (
            const headers of [
              {},
              { origin: "null" },
              { origin: "http://evil.example" },
              { origin: "http://127.0.0.1:1" },
              { origin: forms.origin, "sec-fetch-site": "cross-site" },
              { origin: forms.origin, "sec-fetch-site": "same-site" },
              { origin: forms.origin, "sec-fetch-site": "none" },
            ]
          ) {
            const values = { ...target, ...inputs, token };
            assert.equal((await forms.send(action, values, headers)).status, 403, action);
          }
          // Opening the form's link changes nothing either.
          await forms.open(`act/${action}?${new URLSearchParams({ ...target, ...inputs, token })}`);
        }
        assert.deepEqual(await everythingOf(agents), before);
      });
    } finally {
      for (const { id } of agents) await removePeer("operator", id);
    }
  },
);

artifactTest(
  "every action with the token of its form → done; the same form again → 403, and nothing more has changed",
  async (cast) => {
    const agents = Object.values(cast) as Agent[];
    const actions = await everyAction(cast);
    await withForms(async (forms) => {
      for (const [action, target, inputs = {}] of actions) {
        const before = JSON.stringify(await everythingOf(agents));
        const token = await forms.tokenOf(action, target);
        const first = await forms.send(action, { ...target, ...inputs, token });
        assert.equal(first.status, 303, `${action}: ${first.text}`);
        assert.match(first.location!, /^\.\.\/results\/[0-9a-f]{32}$/);
        const after = await everythingOf(agents);
        if (action !== "sender.unblock") assert.notEqual(JSON.stringify(after), before, action);
        const again = await forms.send(action, { ...target, ...inputs, token });
        assert.equal(again.status, 403, action);
        assert.ok(again.text.includes(first.location!), "it leads to what the form did");
        assert.deepEqual(await everythingOf(agents), after, action);
        const result = await forms.open(first.location!.slice(3));
        assert.match(result.text, /<h1>Done<\/h1>/, `${action}: ${result.text}`);
      }
    });
  },
);

artifactTest(
  "a new agent key → works, is shown once, and no other page has it",
  async ({ planner }) => {
    await withForms(async (forms) => {
      const target = { agent_id: planner.id };
      const token = await forms.tokenOf("key.create", target);
      const { location } = await forms.send("key.create", { ...target, token, label: "from here" });
      const result = location!.slice(3);
      const { text } = await forms.open(result);
      const [key] = /ak_[0-9a-f]{64}/.exec(text) ?? [];
      assert.ok(key, text);
      const { body } = await send("/agent-artifacts/whoami", {
        method: "GET",
        headers: { authorization: `Bearer ${key}` },
      });
      assert.equal(body["agent_id"], planner.id);
      for (const path of [result, `agents/${planner.id}`, "overview/", "agents/"]) {
        const shown = (await forms.open(path)).text;
        assert.ok(!shown.includes(key), path);
        assert.ok(!shown.includes(SECRET_KEY), path);
      }
    });
  },
);

artifactTest(
  "a form with something wrong in it → 422 with a new form, and nothing has changed",
  async ({ planner }) => {
    await withForms(async (forms) => {
      const before = await everythingOf([planner]);
      const target = { agent_id: planner.id };
      for (
        const [action, inputs, reason] of [
          ["key.create", { expires_at: "tomorrow" }, "a timestamp in UTC"],
          ["key.create", { expires_at: "2020-01-31T09:30:00Z" }, "in the future"],
          ["key.create", { label: "a".repeat(201) }, "at most 200 characters"],
          [
            "agent.remove",
            { typed_name: "planner", keep_artifacts: "no" },
            "The name that you typed",
          ],
          ["agent.remove", { typed_name: planner.id }, "what happens to its files"],
        ] as const
      ) {
        const token = await forms.tokenOf(action, target);
        const { status, text } = await forms.send(action, { ...target, ...inputs, token });
        assert.equal(status, 422, text);
        assert.ok(text.includes(reason), text);
        const [, next] = /name="token" value="([^"]+)"/.exec(text)!;
        assert.notEqual(next, token);
      }
      assert.deepEqual(await everythingOf([planner]), before);
    });
  },
);

artifactTest(
  "an action that is not possible → 409 with the reason in place of a form",
  async ({ planner, builder }) => {
    await withForms(async (forms) => {
      const rule = { from_agent: planner.id, to_agent: builder.id, port: "22", proto: "tcp" };
      for (
        const [action, target, reason] of [
          ["agent.remove", { agent_id: "nobody-at-all" }, "Nothing names an agent"],
          ["key.create", { agent_id: "no name" }, "name has 1 to 128"],
          ["key.revoke", { agent_id: planner.id, key_id: builder.keyId }, "no such agent key"],
          ["rule.end", rule, "There is no rule"],
          ["rule.put", { ...rule, port: "65536" }, "from 1 to 65535"],
          ["rule.put", { ...rule, proto: "icmp" }, "tcp or udp"],
          ["rule.put", { ...rule, to_agent: planner.id }, "between two agents"],
          ["psk.rotate", { a: planner.id, b: builder.id }, "has no peer"],
          ["grant.end", { grant_id: "grant_x", artifact_id: "art_x", agent_id: "" }, "has ended"],
        ] as const
      ) {
        const path = `act/${action}?${new URLSearchParams(target)}`;
        const { status, text } = await forms.open(path);
        assert.equal(status, 409, text);
        assert.ok(text.includes(reason), text);
        assert.doesNotMatch(text, /method="post"/);
      }
      assert.equal((await forms.open("act/secrets.show")).status, 404);
      assert.equal((await forms.open("results/unknown")).status, 404);
    });
  },
);

artifactTest(
  "an action that was undone → everything is as before",
  async ({ planner, builder }) => {
    const agents = [planner, builder];
    await withForms(async (forms) => {
      await agree(ruleBetween(planner, builder));
      const rule = { from_agent: planner.id, to_agent: builder.id, port: "443", proto: "tcp" };
      const block = { agent_id: builder.id, from_agent: planner.id };
      for (
        const [action, undo, target] of [
          ["rule.end", "rule.put", rule],
          ["sender.block", "sender.unblock", block],
        ] as const
      ) {
        const before = await everythingOf(agents);
        const text = await forms.act(action, target);
        assert.notDeepEqual(await everythingOf(agents), before);
        const [, form] = new RegExp(`action="../act/${undo}"[^>]*>([^]*?)</form>`).exec(text)!;
        const values = Object.fromEntries(
          Array.from(form!.matchAll(/name="([^"]+)" value="([^"]*)"/g), ([, name, value]) => [
            name!,
            value!,
          ]),
        );
        assert.equal((await forms.send(undo, values)).status, 303);
        assert.deepEqual(await everythingOf(agents), before);
      }
    });
  },
);

Deno.test("a token → ends after ten minutes, and when a thousand newer ones were issued", () => {
  let now = 0;
  const tokens = new ActionTokens(() => now);
  const target = { agent_id: "planner" };
  const token = tokens.issue("key.create", target);
  now = 10 * 60_000;
  assert.equal(tokens.redeem(token, "key.create", target).isValid, false);
  const early = tokens.issue("key.create", target);
  for (let count = 0; count < 1_000; count++) tokens.issue("key.create", target);
  assert.equal(tokens.redeem(early, "key.create", target).isValid, false);
});
