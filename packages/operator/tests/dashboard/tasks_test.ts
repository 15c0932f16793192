/** Grants as work on the dashboard. */
import assert from "node:assert/strict";
import { artifactTest, grant, publish } from "../../../../tests/conformance/artifacts.ts";
import { take, tell } from "../../../../tests/conformance/tasks/tasks.ts";
import { newTag, setTags } from "../../../../tests/conformance/tags/tagged.ts";
import { withForms } from "./forms.ts";

artifactTest(
  "a task that is taken, and then parked → the agent's page says by whom, and why; the panels count it",
  async ({ planner, builder, stranger }) => {
    await grant(planner, await publish(planner), { to: builder });
    const to_tag = newTag();
    for (const agent of [builder, stranger]) await setTags(agent, to_tag);
    await grant(planner, await publish(planner, { key: "for all" }), { to_tag });
    const [task] = await take(builder);
    await withForms(async (forms) => {
      const page = async () => (await forms.open(`agents/${planner.id}`)).text;
      const taken = await page();
      assert.match(taken, new RegExp(`taken by <a [^>]*>${builder.id}</a>`));
      assert.match(taken, />2 waiting</);
      // Not markup: the words are an agent's own.
      const reason = "No <b>roof</b>.";
      await tell(builder, "fail", { take_id: task!.take_id, reason, final: true });
      assert.ok((await page()).includes("parked: <bdi>No &lt;b&gt;roof&lt;/b&gt;.</bdi>"));
      assert.match((await forms.open("panels/storage")).text, /[0-9]+ parked tasks/);
      const doctor = (await forms.open("panels/doctor")).text;
      assert.match(doctor, /<strong>note<\/strong> tasks: \d+ tasks? (?:is|are) parked: /);
    });
  },
);
