import type { MendedFault } from "./mended_fault.ts";

/** What somebody else made on our tables, or with a reference to them. */
export const STRANGERS: readonly MendedFault[] = [
  {
    fault: "a trigger of somebody else swallows our events",
    put: `create function public.swallow() returns trigger language plpgsql
        as $$ begin return null; end $$;
      create trigger swallow before insert on agents.events
        for each row execute function public.swallow()`,
    check: "structure",
    message: /^No migration made the trigger swallow of agents\.events: /,
    cleanUp: "drop function public.swallow()",
  },
  {
    fault: "a rule of somebody else swallows our events",
    put: "create rule swallow as on insert to agents.events do instead nothing",
    check: "structure",
    message: /^No migration made the rule swallow of agents\.events: /,
  },
  {
    fault: "a constraint of somebody else stops our writes",
    put: "alter table agents.events add constraint never check (false) not valid",
    check: "structure",
    message: /^No migration made the constraint never of agents\.events: /,
  },
  {
    fault: "a unique index of somebody else stops our writes",
    put: "create unique index one_each on agents.events ((action || event_id))",
    check: "structure",
    message: /^No migration made the index agents\.one_each: /,
  },
  {
    fault: "a foreign key of the app's table stops the deletion of our rows",
    put: `set role postgres;
      create table public.favourites (artifact_id text references artifacts.artifacts);
      reset role`,
    check: "structure",
    message:
      /^No migration made the constraint favourites_artifact_id_fkey of public\.favourites: /,
    cleanUp: "drop table public.favourites",
  },
  {
    fault: "a column of somebody else that must have a value stops our inserts",
    put: `alter table agents.changed_things add column team text not null default 'x';
      alter table agents.changed_things alter column team drop default`,
    check: "structure",
    message: /^No migration made the not null of agents\.changed_things\.team: /,
    cleanUp: "alter table agents.changed_things drop column team",
  },
];
