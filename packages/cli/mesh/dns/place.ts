import { UsageError } from "../../../command/usage_error.ts";
import { parsePlace, type Place } from "../../../agent-peer/mesh/proxies/place.ts";

/** A port of this machine. */
export type PortPlace = Extract<Place, { readonly kind: "port" }>;

/** A port of this machine. Throws UsageError. */
export function dnsPlaceOf(text: string): PortPlace {
  const place = text.includes("/") ? null : parsePlace(text);
  if (place?.kind === "port") return place;
  throw new UsageError(`${text} is not a port of this machine, such as 127.0.0.1:5353.`);
}
