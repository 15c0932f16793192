/** Connections that send requests for as long as something else is measured. */
import { Agent, request } from "undici";
import type { BenchRequest } from "./load.ts";

/** A caller, and the requests that it sends again and again. */
export interface CrowdMember {
  readonly name: string;
  readonly connections: number;
  /**
   * Returns the next request. Each request has its own number. A request without a body is a GET.
   */
  readonly next: (number: number) => Omit<BenchRequest, "body"> & { readonly body: object | null };
}

/** Answers to one member by status; `failed` counts requests without an answer. */
export type AnswerCounts = Readonly<Record<string, number>>;

/**
 * Runs `measure` beside a crowd. Every connection of the crowd sends its next request as soon as it
 * has the answer to the previous one. Returns the result of `measure` and each member's answers.
 */
export async function besideCrowd<Result>(
  { origin, crowd, warmUpMilliseconds }: {
    readonly origin: string;
    readonly crowd: readonly CrowdMember[];
    readonly warmUpMilliseconds: number;
  },
  measure: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly answers: ReadonlyMap<string, AnswerCounts> }> {
  const answers = new Map<string, Record<string, number>>();
  const agent = new Agent({ connections: 1000, pipelining: 1 });
  let isOver = false;

  async function ask(
    member: CrowdMember,
    counts: Record<string, number>,
    numbers: Iterator<number>,
  ) {
    while (!isOver) {
      const { path, headers, body } = member.next(numbers.next().value!);
      const outcome = await request(`${origin}/functions/v1${path}`, {
        method: body === null ? "GET" : "POST",
        headers: { "content-type": "application/json", ...headers },
        body: body === null ? null : JSON.stringify(body),
        dispatcher: agent,
      }).then(async (answer) => {
        await answer.body.dump();
        return String(answer.statusCode);
      }, () => "failed");
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  }

  const asking = crowd.flatMap((member) => {
    const counts: Record<string, number> = {};
    const numbers = countUp();
    answers.set(member.name, counts);
    return Array.from({ length: member.connections }, () => ask(member, counts, numbers));
  });
  try {
    await new Promise((resolve) => setTimeout(resolve, warmUpMilliseconds));
    return { result: await measure(), answers };
  } finally {
    isOver = true;
    await Promise.all(asking);
    await agent.close();
  }
}

function* countUp(): Generator<number> {
  for (let number = 0;; number++) yield number;
}
