import { writeAddress } from "../../../paths/stun/address.ts";
import { ATTRIBUTE, CLASS, METHOD, parseStun, writeStun } from "../../../paths/stun/message.ts";
import type { Internet } from "./internet.ts";
import type { Place } from "./router.ts";

/** Answers where a datagram came from (RFC 8489). */
export function startStunServer(internet: Internet, place: Place): void {
  internet.attach(place.address, ({ from, to, datagram }) => {
    const request = parseStun(datagram);
    if (request?.method !== METHOD.binding || request.kind !== CLASS.request) return;
    const { transaction } = request;
    const answer = writeStun({
      method: METHOD.binding,
      kind: CLASS.success,
      transaction,
      attributes: new Map([[ATTRIBUTE.xorMappedAddress, writeAddress(from, transaction)]]),
    });
    internet.send({ from: to, to: from, datagram: answer, length: answer.length });
  });
}
