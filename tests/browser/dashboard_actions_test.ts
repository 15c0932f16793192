/** Every action of the dashboard, using only the keyboard. */
import assert from "node:assert/strict";
import { type Cast, grant, inbox, publish } from "../conformance/artifacts.ts";
import { createAgent, endCreatedAgents, operatorRpc } from "../conformance/client.ts";
import { agree, configOf, join, netmapOf, putRule, ruleBetween } from "../conformance/mesh_cast.ts";
import type { Page } from "./chromium.ts";
import { withCrowd } from "./crowd.ts";
import { followLink, pressButton, typeInto } from "./keyboard.ts";
import { LOOKS, obstaclesOf, untilLive, withDashboard } from "./open_dashboard.ts";

/** The effects that a form's page announces. */
function effectsOn(page: Page): Promise<string> {
  return page.locator("#effects").innerText();
}

async function describe(agent_id: string) {
  const { body } = await operatorRpc("read_agent", { agent_id });
  return body as unknown as {
    readonly live_keys: number;
    readonly grants_given: number;
    readonly blocked_senders: readonly string[];
    readonly peer: unknown;
  };
}

/** Presses a form's button. Returns the text about what it did. */
async function confirm(page: Page, button: string): Promise<string> {
  await pressButton(page, button);
  assert.match(page.url(), /\/results\/[0-9a-f]{32}$/);
  assert.deepEqual(await obstaclesOf(page), []);
  return await page.locator("#done").innerText();
}

async function makeCast(): Promise<Cast> {
  const [planner, builder, stranger] = [
    await createAgent("planner"),
    await createAgent("builder"),
    await createAgent("stranger"),
  ];
  for (const agent of [planner, builder]) await join(agent);
  await agree(ruleBetween(planner, builder));
  await putRule(builder, ruleBetween(planner, builder, { port: 22 }));
  await configOf(planner);
  const artifact = await publish(planner, { key: "plans/house.txt" });
  await grant(planner, artifact, { to: builder });
  return { planner, builder, stranger };
}

/** Goes from the first page to the agent's page, using only the keyboard. */
async function findAgent(page: Page, agentId: string): Promise<void> {
  await typeInto(page, "prefix", agentId);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await untilLive(page);
  assert.equal(await page.locator("#found").innerText(), "1 agent.");
  await followLink(page, agentId);
  await untilLive(page);
}

async function tryEveryAction(page: Page, { planner, builder, stranger }: Cast): Promise<void> {
  const back = async (agentId: string) => {
    await followLink(page, `Back to ${agentId}`);
    await untilLive(page);
  };

  // The first Tab of a page reaches the link that skips its head.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate("document.activeElement.id"), "content");
  await page.reload();
  await untilLive(page);
  await findAgent(page, planner.id);

  await followLink(page, "Make an agent key");
  assert.match(await effectsOn(page), /has 1 live agent key\. They stay valid/);
  await typeInto(page, "label", "made by keyboard");
  const made = await confirm(page, "Make the agent key");
  const [keyId] = /key_[0-9a-f]{32}/.exec(made)!;
  assert.match(await page.locator("#secret").inputValue(), /^ak_[0-9a-f]{64}$/);
  assert.equal((await describe(planner.id)).live_keys, 2);
  await page.goBack();
  await page.goForward();
  assert.equal(await page.locator("#secret").count(), 0, "the agent key is shown once");
  await back(planner.id);

  await followLink(page, "Revoke …", keyId!);
  assert.match(await effectsOn(page), /made by keyboard.*refused from now on.*keeps 1 live/s);
  assert.match(await confirm(page, "Revoke the agent key"), /is revoked/);
  assert.equal((await describe(planner.id)).live_keys, 1);
  await back(planner.id);

  await followLink(page, "Rotate …", builder.id);
  assert.match(await effectsOn(page), /both hosts get a new configuration/);
  const versionOf = async () =>
    (await netmapOf(builder)).peers.find(({ self }) => !self)!.psk_version!;
  const version = await versionOf();
  await confirm(page, "Rotate the PSK");
  assert.equal(await versionOf(), version + 1);
  await back(planner.id);

  await followLink(page, "Agree …", "tcp 22");
  assert.match(await effectsOn(page), new RegExp(`You agree for ${planner.id}`));
  await confirm(page, "Agree to the rule");
  assert.equal((await netmapOf(planner)).acls.length, 2);
  await pressButton(page, "Undo: end the rule");
  assert.equal((await netmapOf(planner)).acls.length, 1);
  await back(planner.id);

  await followLink(page, "End …", "tcp 443");
  assert.match(await effectsOn(page), /It is the last active rule between the two/);
  await confirm(page, "End the rule");
  assert.equal((await netmapOf(planner)).acls.length, 0);
  await pressButton(page, "Undo: add the rule again");
  assert.equal((await netmapOf(planner)).acls.length, 1);
  await back(planner.id);

  await typeInto(page, "to_agent", stranger.id);
  await typeInto(page, "port", "8080");
  await pressButton(page, "Add a rule");
  assert.match(await effectsOn(page), /you agree for both.*takes effect when/s);
  await confirm(page, "Agree to the rule");
  await back(planner.id);

  await followLink(page, "End …", "grant_");
  assert.match(await effectsOn(page), /plans\/house\.txt.*There is no other live grant/s);
  await confirm(page, "End the grant");
  assert.equal((await inbox(builder)).length, 0);
  await pressButton(page, "Undo: grant it again");
  assert.equal((await inbox(builder)).length, 1);
  await back(planner.id);

  await findAgent(page, builder.id);
  await followLink(page, "Block the sender …", planner.id);
  assert.match(await effectsOn(page), /^1 live grant from .* leave/);
  await confirm(page, "Block the sender");
  assert.equal((await inbox(builder)).length, 0);
  await pressButton(page, "Undo: unblock the sender");
  assert.equal((await inbox(builder)).length, 1);
  await back(builder.id);
  await blockByName(page, stranger.id);
  assert.deepEqual((await describe(builder.id)).blocked_senders, [stranger.id]);
  await back(builder.id);
  await followLink(page, "Unblock …", stranger.id);
  await confirm(page, "Unblock the sender");
  assert.deepEqual((await describe(builder.id)).blocked_senders, []);
  await back(builder.id);

  await findAgent(page, stranger.id);
  await followLink(page, "Revoke every agent key");
  assert.match(await effectsOn(page), /^1 live agent key of/);
  await confirm(page, "Revoke every agent key");
  assert.equal((await describe(stranger.id)).live_keys, 0);

  await findAgent(page, planner.id);
  await followLink(page, "Remove the agent");
  assert.match(
    await effectsOn(page),
    /1 live agent key revoked\..*1 committed file deleted.*1 live grant ended.*Its peer is deleted, with 2 active rules/s,
  );
  await typeInto(page, "typed_name", "somebody else");
  await pressButton(page, "Remove");
  assert.match(await page.locator("[role=alert]").innerText(), /Nothing was changed\.$/);
  assert.deepEqual(await obstaclesOf(page), []);
  assert.notEqual((await describe(planner.id)).peer, null);
  await typeInto(page, "typed_name", planner.id);
  assert.match(
    await confirm(page, "Remove"),
    /is removed: 1 agent key, 1 grant, 1 file and 1 peer/,
  );
  assert.equal((await describe(planner.id)).peer, null);
}

async function blockByName(page: Page, sender: string): Promise<void> {
  // Another form on the page has a field with the same name.
  let field = "";
  while (field !== "blocked") {
    await typeInto(page, "from_agent", "");
    field = await page.evaluate("document.activeElement.closest('section').id");
  }
  await page.keyboard.type(sender);
  await pressButton(page, "Block …");
  await confirm(page, "Block the sender");
}

Deno.test("every action, by keyboard alone, beside 2,000 agents and 300 peers → told beforehand, done, undone where that is possible", async (t) => {
  await withCrowd(async () => {
    // dashboard_looks_test.ts tries every width in every colour scheme.
    for (const look of [LOOKS[0]!, LOOKS.at(-1)!]) {
      await t.step(`${look.width} px, ${look.colorScheme}`, async () => {
        try {
          const cast = await makeCast();
          await withDashboard("", async ({ page, complaints, requestsElsewhere }) => {
            await tryEveryAction(page, cast);
            assert.deepEqual(complaints.filter((text) => !text.includes("422")), []);
            assert.deepEqual(requestsElsewhere, []);
          }, look);
        } finally {
          await endCreatedAgents();
        }
      });
    }
  });
});
