/** Runs the documented alerts on a test's series with promtool. */
import { join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { documentedBlock } from "../blocks/documentation.ts";

/** One value per minute; null: nothing was scraped. */
export type Values = readonly (number | null)[];

/** Values by series, such as `up{job="agent-mesh"}`. */
export type AllSeries = Readonly<Record<string, Values>>;

export interface ExpectedAlert {
  readonly alert: string;
  readonly minute: number;
  /** The labels of each alert that fires. */
  readonly firing: readonly Readonly<Record<string, string>>[];
}

/** The documented rules, without their annotations, which are templates. */
export async function documentedRules(): Promise<string> {
  const rules = await documentedBlock("docs/monitoring.md, Prometheus, 3");
  return rules.replaceAll(/^ +annotations:\n +summary: .*\n?/gm, "");
}

export function namesOfAlerts(rules: string): string[] {
  return Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name]) => name!);
}

/** Null if every expectation holds, otherwise promtool's output. */
export async function testRules(
  rules: string,
  series: AllSeries,
  expected: readonly ExpectedAlert[],
): Promise<string | null> {
  const directory = await Deno.makeTempDir({ prefix: "agent-mesh-rules-" });
  try {
    await Deno.writeTextFile(join(directory, "rules.yml"), rules);
    const file = join(directory, "test.yml");
    // JSON is YAML.
    await Deno.writeTextFile(
      file,
      JSON.stringify({
        rule_files: ["rules.yml"],
        evaluation_interval: "1m",
        tests: [{
          interval: "1m",
          input_series: Object.entries(series).map(([name, values]) => ({
            series: name,
            values: values.map((value) => value ?? "_").join(" "),
          })),
          alert_rule_test: expected.map(({ alert, minute, firing }) => ({
            eval_time: `${minute}m`,
            alertname: alert,
            exp_alerts: firing.map((exp_labels) => ({ exp_labels })),
          })),
        }],
      }),
    );
    const { code, output, errors } = await runProgram("promtool", {
      args: ["test", "rules", file],
    });
    return code === 0 ? null : output + errors;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
