import { BOXES, GUESTS } from "../known/identities.ts";
import type { Heard, Known } from "../known/known.ts";
import type { Invariant } from "../registry.ts";

const DAY = 86_400_000;

/** Whoever is erased takes the grants to it along, and their idempotency keys. */
const COME_AND_GO = new Set<unknown>([...GUESTS, ...BOXES]);

function keyOf({ operation, status, request }: Heard): unknown {
  return operation === "/agent-artifacts/grant" && status === 200
    ? request["idempotency_key"]
    : undefined;
}

/** Earlier answers for the same key, less than a day ago by a clock that was not set. */
function formerAnswers(entry: Heard, known: Known): readonly Heard[] {
  const key = keyOf(entry);
  if (key === undefined || known.hasDatabaseJumped) return [];
  const { restoredAt } = known.identities;
  return known.history.filter((former) =>
    former !== entry && keyOf(former) === key && former.agent === entry.agent &&
    !COME_AND_GO.has(former.request["to_agent"]) && former.start > (restoredAt ?? 0) &&
    entry.answeredAt - former.askedAt < DAY
  );
}

export const KEYED: readonly Invariant[] = [
  {
    name: "an idempotency key makes one grant",
    hear(entry, known) {
      const id = entry.answer?.["grant_id"];
      const other = formerAnswers(entry, known).find(({ answer }) => answer!["grant_id"] !== id);
      return other === undefined ? null : `${id} and ${other.answer!["grant_id"]}`;
    },
    sql: `select h.idempotency_key || ' of ' || h.from_agent || ' has two grants' as broken
      from artifacts.hand_overs h
      join artifacts.hand_overs o on o.from_agent = h.from_agent
        and o.idempotency_key = h.idempotency_key and o.grant_id <> h.grant_id
        and o.handed_over_at - h.handed_over_at between interval '0' and interval '23:59:59'`,
  },
  {
    name: "another request with the same idempotency key is refused",
    hear(entry, known) {
      const request = JSON.stringify(entry.request);
      const other = formerAnswers(entry, known)
        .find((former) => JSON.stringify(former.request) !== request);
      return other === undefined ? null : `${entry.answer!["grant_id"]} answers ${request}`;
    },
  },
  {
    name: "only the request that made a grant is answered its token",
    hear(entry) {
      if (keyOf(entry) === undefined) return null;
      const { token, repeated = false, grant_id } = entry.answer!;
      return (token === null) === repeated ? null : `${grant_id}: ${repeated}`;
    },
  },
];
