import { checkClocks } from "./checks/clocks.ts";
import { checkDatabase } from "./checks/database/database.ts";
import { checkEnrolments } from "./checks/enrolments.ts";
import { checkFunctions } from "./checks/functions.ts";
import { checkHeldLog } from "./checks/database/held_log.ts";
import { checkLegacyKey } from "./checks/legacy_key.ts";
import { checkLimits } from "./checks/limits.ts";
import { checkPolicies } from "./checks/policies.ts";
import { checkPolicy } from "./checks/mesh/policy.ts";
import { checkPskKeys } from "./checks/mesh/psk_keys.ts";
import { checkRelay } from "./checks/mesh/relay.ts";
import { checkRestore } from "./checks/restore.ts";
import { checkStorage } from "./checks/storage.ts";
import { checkSweep } from "./checks/sweep.ts";
import { checkTasks } from "./checks/tasks.ts";
import { checkWebhooks } from "./checks/webhooks.ts";
import type { Connection } from "../connection/connection.ts";
import { gatherFacts } from "./facts/facts.ts";
import { fault, type Finding } from "./findings/finding.ts";
import { reasonOf } from "../../command/command_error.ts";

const CHECKS = [
  checkDatabase,
  checkFunctions,
  checkLegacyKey,
  checkStorage,
  checkPolicies,
  checkRestore,
  checkPskKeys,
  checkPolicy,
  checkRelay,
  checkHeldLog,
  checkSweep,
  checkTasks,
  checkWebhooks,
  checkEnrolments,
  checkLimits,
  checkClocks,
];

/** Everything that the doctor finds in a deployment. Changes nothing there. */
export async function diagnose(connection: Connection): Promise<Finding[]> {
  const facts = await gatherFacts(connection);
  return CHECKS.flatMap((check) => {
    try {
      return check(facts);
    } catch (error) {
      // An answer was not what this release of the service gives.
      return [fault(
        check.name.replace(/^check/, "").toLowerCase(),
        `This could not be checked: ${reasonOf(error)}.`,
        "Run the doctor of the checkout that was deployed.",
      )];
    }
  });
}
