import assert from "node:assert/strict";
import { follow } from "../links/link.ts";
import { connect } from "../mcp/mcp_client.ts";
import { artifactTest, type Download, grant, open, publish, redeem } from "../artifacts.ts";

artifactTest(
  "every URL that is handed out for an image → a download: a browser shows nothing on the project's origin",
  async ({ planner, builder }) => {
    const content = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
    const artifact = await publish(planner, { key: "a.svg", mime: "image/svg+xml", content });
    const { token } = await grant(planner, artifact, { to: builder });
    await using client = await connect("agent-artifacts", builder);
    const { artifact_id } = artifact;
    const [got, fetched] = [
      await client.succeed("get", { artifact_id }),
      await client.succeed("fetch", { grant_token: token }),
    ];
    const urls: Record<string, string> = {
      "/open": (await open(builder, artifact)).body.url,
      "/fetch": ((await redeem(token)).body as Download).url,
      "/d": (await follow(token)).location!,
      get: /'(https?:[^']+)'/.exec(String(got["command"]))![1]!,
      fetch: /'(https?:[^']+)'/.exec(String(fetched["command"]))![1]!,
    };
    for (const [where, url] of Object.entries(urls)) {
      assert.ok(new URL(url).searchParams.has("download"), where);
      const response = await fetch(url);
      assert.equal(await response.text(), content, where);
      assert.match(response.headers.get("content-disposition") ?? "", /^attachment\b/, where);
    }
  },
);
