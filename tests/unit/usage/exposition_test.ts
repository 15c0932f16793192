import assert from "node:assert/strict";
import {
  renderMetrics,
  samplesBy,
} from "../../../supabase/functions/_shared/request/usage/exposition.ts";
import { Histogram } from "../../../supabase/functions/_shared/request/usage/histogram.ts";

const FAMILY = { name: "things", help: "What there is.", type: "gauge" } as const;

Deno.test("a family → its help, its type, a line for each sample", () => {
  assert.equal(
    renderMetrics([{ ...FAMILY, samples: samplesBy("state", { new: 1, old: 2.5 }) }]),
    '# HELP things What there is.\n# TYPE things gauge\nthings{state="new"} 1\nthings{state="old"} 2.5\n',
  );
});

Deno.test("a sample that is not known, a family without samples → left out", () => {
  const samples = [{ value: null }, { labels: { state: "new" }, value: 0 }];
  assert.match(renderMetrics([{ ...FAMILY, samples }]), /gauge\nthings\{state="new"\} 0\n$/);
  assert.equal(renderMetrics([{ ...FAMILY, samples: [{ value: null }] }]), "");
  assert.equal(renderMetrics([{ ...FAMILY, samples: [] }]), "");
});

Deno.test("a label with quotes, backslashes and newlines → escaped", () => {
  const samples = samplesBy("state", { 'a"b\\c\nd': 1 });
  assert.ok(renderMetrics([{ ...FAMILY, samples }]).includes('things{state="a\\"b\\\\c\\nd"} 1\n'));
});

Deno.test("a histogram → each bucket has all that took no longer, the sum and the count", () => {
  const histogram = new Histogram();
  for (const seconds of [0.005, 0.006, 0.3, 60]) histogram.observe(seconds);
  const values = new Map(
    histogram.samples({ call: "list" }).map(({ suffix, labels, value }) => [
      `${suffix} ${labels!["le"] ?? ""}`.trim(),
      value,
    ]),
  );
  assert.equal(values.get("_bucket 0.005"), 1);
  assert.equal(values.get("_bucket 0.01"), 2);
  assert.equal(values.get("_bucket 0.25"), 2);
  assert.equal(values.get("_bucket 0.5"), 3);
  assert.equal(values.get("_bucket 10"), 3);
  assert.equal(values.get("_bucket +Inf"), 4);
  assert.equal(values.get("_count"), 4);
  assert.equal(values.get("_sum")?.toFixed(3), "60.311");
});
