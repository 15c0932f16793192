/**
 * Metrics as Prometheus reads them: its text format, version 0.0.4.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */

export interface MetricFamily {
  readonly name: string;
  /** One line. */
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** After the family's name, such as `_bucket`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Null: not known, and left out. */
  readonly value: number | null;
}

export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A gauge of one number, or of several that its labels tell apart. */
export function gauge(
  name: string,
  help: string,
  values: number | null | readonly Sample[],
): MetricFamily {
  const samples = typeof values === "object" && values !== null ? values : [{ value: values }];
  return { name, help, type: "gauge", samples };
}

/** One sample per entry: `{label="<its name>"} <its value>`. */
export function samplesBy(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

/** Families without a sample are left out. */
export function renderMetrics(families: readonly MetricFamily[]): string {
  return families.map(renderFamily).join("");
}

function renderFamily({ name, help, type, samples }: MetricFamily): string {
  const lines = samples.filter(({ value }) => value !== null).map((sample) =>
    `${name}${sample.suffix ?? ""}${renderLabels(sample.labels ?? {})} ${sample.value}\n`
  );
  if (lines.length === 0) return "";
  return `# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function renderLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) =>
    `${label}="${escape(value).replaceAll('"', '\\"')}"`
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
