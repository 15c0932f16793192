/** Grants to a tag on the dashboard: revoke, and grant again. */
import assert from "node:assert/strict";
import {
  artifactTest,
  grant,
  inbox,
  open,
  publish,
} from "../../../../tests/conformance/artifacts.ts";
import { inboxIds, newTag, setTags } from "../../../../tests/conformance/tags/tagged.ts";
import { withForms } from "./forms.ts";

/** The action and the target that the page's undo form sends. */
function offerIn(page: string): { action: string; target: Record<string, string> } {
  const [, action = "", form = ""] =
    /<form method="post" action="[^"]*act\/([a-z.]+)"[^>]*>(.*?)<\/form>/s.exec(page) ?? [];
  const fields = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  const { token: _, ...target } = Object.fromEntries(
    Array.from(fields, ([, name, value]) => [name!, value!]),
  );
  return { action, target };
}

artifactTest(
  "a grant to a tag that is ended and granted again → every agent with the tag has it as before, for the downloads that are left",
  async ({ planner, builder, stranger }) => {
    const to_tag = newTag();
    await setTags(builder, to_tag);
    const artifact = await publish(planner, { key: "plans/house.txt" });
    const { grant_id, expires_at } = await grant(planner, artifact, { to_tag, max_downloads: 3 });
    await open(builder, artifact);
    await withForms(async (forms) => {
      const target = { grant_id, artifact_id: artifact.artifact_id, agent_id: planner.id };
      const ended = await forms.act("grant.end", target);
      assert.ok(ended.includes(`to every agent with ${to_tag} has ended`), ended);
      assert.deepEqual(await inbox(builder), []);

      const again = offerIn(ended);
      assert.equal(again.action, "grant.again");
      assert.deepEqual([again.target["to_tag"], again.target["to_agent"]], [to_tag, ""]);
      const { text } = await forms.open(
        `act/${again.action}?${new URLSearchParams(again.target)}`,
      );
      assert.ok(text.includes(`every agent with ${to_tag} again`), text);
      assert.ok(text.includes("at most 2 times together"), text);
      const done = await forms.act(again.action, again.target);
      assert.ok(done.includes(`Every agent with ${to_tag} may read the file again`), done);
    });
    const [entry, ...more] = await inbox(builder);
    assert.deepEqual([entry!.expires_at, more], [expires_at, []]);
    assert.notEqual(entry!.grant_id, grant_id);
    assert.deepEqual(await inboxIds(stranger), []);
    for (const status of [200, 200, 410]) {
      assert.equal((await open(builder, artifact)).status, status);
    }
  },
);
