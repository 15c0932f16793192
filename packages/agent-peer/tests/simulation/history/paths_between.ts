import type { RouterKind } from "../network/router.ts";
import type { HostPlan, Plan } from "./plan.ts";

const OPEN: readonly Side[] = ["none", "full cone"];
type Side = RouterKind | "none";

/** Whether two hosts can reach each other without a relay: RFC 5128, and tests/paths. */
export function canMeet(plan: Plan, one: HostPlan, other: HostPlan): boolean {
  if (one.network !== null && one.network === other.network) return true;
  const sides = [one, other].map(({ network }): Side =>
    network === null ? "none" : plan.networks[network]!.kind
  );
  if (sides.some((side) => OPEN.includes(side)) || !sides.includes("symmetric")) return true;
  // The other one lets in any port of an address that it has sent to.
  return sides.includes("address-restricted");
}
