import assert from "node:assert/strict";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

Deno.test("docs/dashboard.md, Dashboard → a URL that shows the page, until Ctrl-C", async () => {
  await using terminal = await Terminal.open();
  await terminal.begin(await documentedBlock("docs/dashboard.md, Dashboard, 1"));
  const printed = await terminal.untilPrinted("/\n");
  const url = /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/m.exec(printed)![0];
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.match(await response.text(), /<h2>Mesh<\/h2>/);
  for (const loaded of ["assets/cytoscape.js", "agents/", "peers/", "picture/mesh"]) {
    const { status, body } = await fetch(url + loaded);
    await body?.cancel();
    assert.equal(status, 200, loaded);
  }
  await terminal.interrupt();
  await assert.rejects(fetch(url));
});
