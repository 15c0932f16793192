import { withStackDatabase } from "../../database/connection.ts";
import { objectsOf } from "../../database/sweep/sweeping.ts";
import type { FunctionName, OnStack } from "../../operations/card.ts";
import { cardsOf } from "../../operations/cards.ts";
import { endLease } from "../../own_function/commits/commits.ts";
import { stackEncryptionKeys } from "../../own_function/mesh_function.ts";
import type { Scenario } from "./scenario.ts";

const ENVIRONMENTS = {
  "agent-artifacts": {},
  "agent-mesh": { PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() },
};

/** The scenarios of a function's operations, from their cards. */
export function scenariosOfCards(functionName: FunctionName): Scenario[] {
  const on: OnStack = { functionName, withDatabase: withStackDatabase, endLease, objectsOf };
  return cardsOf(functionName).flatMap(([path, { faults }]) =>
    faults.map((scenario) => ({
      functionName,
      path,
      ...scenario,
      environment: { ...ENVIRONMENTS[functionName], ...scenario.environment },
      arrange: () => scenario.arrange(on),
    }))
  );
}
