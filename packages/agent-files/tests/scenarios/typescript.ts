/** Runs a scenario with the TypeScript client. */
import { AgentError, type AgentFiles, type Task } from "../../index.ts";
import { bytesIn } from "../cast.ts";
import { type Fields, type Outcome, resolved, type Scenario, type Step } from "./scenario.ts";

export type Clients = Readonly<Record<Step["as"], AgentFiles>>;

// deno-lint-ignore no-explicit-any
type Options = Record<string, any>;
type Call = (files: AgentFiles, options: Options) => unknown;

/** The spelling of this language. What is sent as it is keeps its names. */
function camelCase(fields: Options): Options {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [camel(name), value]),
  );
}

const camel = (name: string) =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The methods that take more than one object of options. */
const CALLS: Record<string, Call> = {
  put: (files, { key, text, ...options }) => files.put(key, text, camelCase(options)),
  async get(files, { target, from_agent, version }) {
    const named = from_agent === undefined && version === undefined ? target : {
      key: target,
      ...(from_agent !== undefined && { agentId: from_agent }),
      ...(version !== undefined && { version }),
    };
    const { artifact, body } = await files.get(named);
    return { ...artifact, text: new TextDecoder().decode(await bytesIn(body)) };
  },
  share: (files, { target, to_agent, to_tag, ...options }) =>
    files.share(target, to_tag ? { tag: to_tag } : to_agent, camelCase(options)),
  link: (files, { target, ...options }) => files.link(target, camelCase(options)),
  unshare: (files, { target, agent }) => files.unshare(target, agent),
  remove: (files, { target }) => files.remove(target),
  versions: (files, { key, ...options }) => files.versions(key, camelCase(options)),
  inbox: (files, options) => files.inbox(camelCase(options)),
};

export async function runScenario(
  { steps }: Scenario,
  clients: Clients,
  ids: Readonly<Record<string, string>>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const step of steps) {
    const options = resolved(step.with ?? {}, outcomes, ids) as Fields;
    outcomes.push(await outcomeOf(() => answerOf(clients[step.as], step, options)));
    // Later steps need its answer.
    if (outcomes.at(-1)!.failed?.[0] === "not_in_testing") break;
  }
  return outcomes;
}

async function outcomeOf(act: () => unknown): Promise<Outcome> {
  try {
    return { gave: await act() as Outcome["gave"] } as Outcome;
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return { failed: [error.code, error.status, error.retryable] };
  }
}

async function answerOf(files: AgentFiles, { call, each = [] }: Step, options: Options) {
  if (call === "tasks") {
    const worked = [];
    for await (const task of files.tasks(camelCase(options))) {
      const gave = [];
      for (const [method, fields = {}] of each) gave.push(await worker(task, method, fields));
      const { id, key, note, from, metadata, attempt, entry } = task;
      worked.push({ id, key, note, from_agent: from, metadata, attempt, entry, gave });
    }
    return worked;
  }
  const made = CALLS[call]?.(files, options) ??
    (files as unknown as Record<string, (options: Options) => unknown>)[camel(call)]!(options);
  return isIterable(made) ? await Array.fromAsync(made) : await made;
}

async function worker(task: Task, method: string, { reason, ...options }: Options) {
  const { gave, failed } = await outcomeOf(() =>
    method === "fail"
      ? task.fail(reason, camelCase(options))
      : (task as unknown as Record<string, (options: Options) => unknown>)[method]!(
        camelCase(options),
      )
  );
  return failed === undefined ? gave : { failed };
}

function isIterable(made: unknown): made is AsyncIterable<unknown> {
  return typeof made === "object" && made !== null && Symbol.asyncIterator in made;
}
