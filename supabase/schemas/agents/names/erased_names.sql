-- The names of erased agents, as keyed hashes: an erasure leaves no name, but keeps the agent out.

create table agents.name_secret (
  only_row boolean primary key default true,
  secret bytea not null,

  constraint there_is_only_one_row check (only_row),
  constraint secret_has_32_bytes check (length(secret) = 32)
);
comment on table agents.name_secret is
  'One row: the key of hash_of_name. Random, and never shown.';

-- Two version 4 UUIDs carry 244 random bits of the server's strong generator; no extension is
-- needed.
insert into agents.name_secret (secret)
values (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

create table agents.erased_names (
  name_hash bytea primary key,
  erased_at timestamptz not null default clock_timestamp(),

  constraint name_hash_is_a_sha256 check (length(name_hash) = 32)
);
comment on table agents.erased_names is
  'Agents that were erased and not readmitted since. They stay out like removed agents, but the '
  'table has only a keyed hash of each name. Without the key, in name_secret, nobody can test which '
  'name a row stands for.';

create function agents.hash_of_name(name text) returns bytea
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Two rounds, so that the hash of a name says nothing about that of a longer one.
  return (
    select sha256(s.secret || sha256(s.secret || convert_to(hash_of_name.name, 'UTF8')))
    from agents.name_secret s
  );
end
$$;
comment on function agents.hash_of_name(text) is
  'A hash of a name that only this database can compute.';
