create function agents.shared_tables() returns json
language sql
stable
set search_path = ''
as $$
  with ours as (
    select c.oid, c.relnamespace
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (agents.own_schemas()) and c.relkind in ('r', 'p')
  ), found as (
    select 'child' as kind, i.inhrelid::regclass::text as object, i.inhparent::regclass::text as other,
      format('alter table %s no inherit %s;', i.inhrelid::regclass, i.inhparent::regclass) as statement
    from pg_catalog.pg_inherits i
    where i.inhparent in (select o.oid from ours o)
    union all
    select 'parent', i.inhparent::regclass::text, i.inhrelid::regclass::text,
      format(
        case when c.relispartition then 'alter table %2$s detach partition %1$s;'
          else 'alter table %1$s no inherit %2$s;' end,
        i.inhrelid::regclass, i.inhparent::regclass
      )
    from pg_catalog.pg_inherits i
    join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhrelid in (select o.oid from ours o)
    union all
    select 'publication', p.pubname, string_agg(r.prrelid::regclass::text, ', ' order by r.prrelid),
      format(
        'alter publication %I drop table %s;', p.pubname,
        string_agg(r.prrelid::regclass::text, ', ' order by r.prrelid)
      )
    from pg_catalog.pg_publication p
    join pg_catalog.pg_publication_rel r on r.prpubid = p.oid
    where r.prrelid in (select o.oid from ours o)
    group by p.pubname
    union all
    select 'publication', p.pubname, string_agg(n.nspname, ', ' order by n.nspname),
      format(
        'alter publication %I drop tables in schema %s;', p.pubname,
        string_agg(quote_ident(n.nspname), ', ' order by n.nspname)
      )
    from pg_catalog.pg_publication p
    join pg_catalog.pg_publication_namespace s on s.pnpubid = p.oid
    join pg_catalog.pg_namespace n on n.oid = s.pnnspid
    where n.nspname = any (agents.own_schemas())
    group by p.pubname
    union all
    -- A publication for all tables cannot leave one out.
    select 'publication', p.pubname, 'all tables',
      format(
        e'begin;\ndrop publication %1$I;\ncreate publication %1$I%2$s with (publish = %3$L%4$s);\ncommit;',
        p.pubname,
        (
          select ' for tables in schema ' || string_agg(distinct quote_ident(n.nspname), ', ')
          from pg_catalog.pg_class c
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'p')
            and c.relpersistence = 'p'
            and n.nspname !~ '^pg_'
            and n.nspname <> 'information_schema'
            and n.nspname <> all (agents.own_schemas())
        ),
        concat_ws(
          ', ', case when p.pubinsert then 'insert' end, case when p.pubupdate then 'update' end,
          case when p.pubdelete then 'delete' end, case when p.pubtruncate then 'truncate' end
        ),
        case when p.pubviaroot then ', publish_via_partition_root = true' end
      )
    from pg_catalog.pg_publication p
    where p.puballtables
  )
  select coalesce(
    json_agg(
      json_build_object('kind', f.kind, 'object', f.object, 'other', f.other, 'statement', f.statement)
      order by f.kind, f.object, f.other
    ),
    '[]'
  )
  from found f
$$;
comment on function agents.shared_tables() is
  'What carries rows of our tables to others, or rows of others into ours, without a privilege on '
  'ours: [{kind, object, other, statement that ends it}]. kind: publication (object; other: what of '
  'ours it publishes), child (a table, object, that inherits from ours, other), parent (a table, '
  'object, that ours, other, inherits from). No migration makes one.';
