-- The private bucket that holds every artifact's bytes. Its size limit is the project's own (Settings, Storage).
insert into storage.buckets (id, name, public)
values ('agent-artifacts', 'agent-artifacts', false)
on conflict (id) do update set public = false;
