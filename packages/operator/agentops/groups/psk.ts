import { pskRotate } from "../../endings/psk_rotate.ts";
import { pskReencrypt } from "../../psk_reencrypt.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const psk: Operation = defineOperations({
  summary: "Give pairs of agents new PSKs, or encrypt PSKs under the newest key.",
  example: "agentops psk rotate --all",
  parts: {
    rotate: pskRotate,
    reencrypt: pskReencrypt,
  },
});
