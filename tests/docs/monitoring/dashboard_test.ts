import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { readPage } from "../blocks/documentation.ts";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}

/** Metrics of one process. The next scrape may reach another process. */
const OF_ONE_PROCESS =
  /\b(?:agent_requests_total|agent_errors_total|agent_upstream_call_\w+|process_\w+)\b/;

Deno.test("the Grafana dashboard → panels that show metrics which exist, none of one process; none over another", async () => {
  const text = await Deno.readTextFile(join(PROJECT, "examples", "monitoring", "dashboard.json"));
  const { panels } = JSON.parse(text) as { panels: Panel[] };
  assert.ok(panels.length > 10);
  // monitoring_test.ts compares these tables with the functions' answers.
  const described = new Set(
    Array.from(
      (await readPage("docs/monitoring.md")).matchAll(/^\| `((?:agent|process)_[a-z_]+)/gm),
      ([, name]) => name!,
    ),
  );
  const shown = new Set<string>();
  for (const { title, targets } of panels) {
    assert.ok(targets.length > 0, title);
    for (const { expr } of targets) {
      assert.doesNotMatch(expr, OF_ONE_PROCESS, title);
      const names = expr.replaceAll(/"[^"]*"/g, "").match(/\bagent_[a-z_]+/g) ?? [];
      for (const name of names) shown.add(name);
      assert.ok(names.length > 0 || expr.startsWith("up{"), expr);
    }
  }
  assert.deepEqual([...shown].filter((name) => !described.has(name)), []);
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  assert.equal(new Set(places).size, panels.length);
});
