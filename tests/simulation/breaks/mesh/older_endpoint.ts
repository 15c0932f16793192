import type { Break } from "../break.ts";

const broken: Break = {
  words: "A host moves twice within a minute: the older endpoint stays, or comes back.",
  seeds: 40,
  absent: ["bucket"],
  acting: ["hosts"],
  changes: [{
    file: "sql",
    from: `      endpoint = update_peer.endpoint,`,
    to: `      endpoint = case
        when p.updated_at > clock_timestamp() - interval '1 minute' then p.endpoint
        else update_peer.endpoint
      end,`,
  }],
};

export default broken;
