-- The statements of backup.py.

-- Policies bind the owner too. Whoever inherits the keeper's rights sees all rows under them; who may only become
-- the keeper has to do so.
-- name: reader
SELECT (SELECT nspname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE pg_class.oid = to_regclass('ltst_migrations')),
       rolsuper OR rolbypassrls,
       EXISTS (SELECT FROM pg_roles AS keeper
               WHERE keeper.rolname = 'ltst_keeper' AND pg_has_role(me.rolname, keeper.oid, 'USAGE'))
FROM pg_roles AS me WHERE me.rolname = current_user

-- name: strangers
SELECT relname::text FROM pg_class AS class JOIN pg_namespace AS place ON place.oid = relnamespace
WHERE nspname = %(schema)s AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT relname = ANY (%(ours)s)
  AND NOT EXISTS (SELECT FROM pg_depend JOIN pg_class AS owning ON owning.oid = refobjid
                  WHERE classid = 'pg_class'::regclass AND objid = class.oid AND refclassid = 'pg_class'::regclass
                    AND deptype IN ('a', 'i') AND owning.relnamespace = place.oid AND owning.relname = ANY (%(ours)s))

-- name: present
SELECT relname::text FROM pg_class
WHERE relname = ANY (%s) AND relnamespace =
    (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('ltst_migrations'))

-- The roles belong to the whole server, so no backup of one database holds them.
-- name: prepare
CREATE EXTENSION IF NOT EXISTS vector;
DO $$
DECLARE
    role_name TEXT;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['ltst_user', 'ltst_keeper'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', role_name);
        END IF;
        IF NOT pg_has_role(current_user, role_name, CASE
            WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
            EXECUTE format('GRANT %I TO %I', role_name, current_user);
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role_name);
    END LOOP;
END $$;

-- A server that asked for keys goes on asking, whatever a backup from before its first key says.
-- name: asked_for_keys
SET LOCAL ROLE ltst_keeper;
SELECT {condition} AS keys_required \gset
RESET ROLE;

-- name: ask_for_keys
\if :keys_required
SET LOCAL ROLE ltst_keeper;
{require};
RESET ROLE;
\endif

-- What a distributed database lacks: references that Citus refuses, the trigger of adopted tables, and numbers above
-- those that its nodes have given. Of a single server, all of it is there.
-- name: make_whole
DO $$
DECLARE
    wanted CONSTANT TEXT[][] := ARRAY[
        ['conversation_messages', 'parent_message_id', 'SET NULL (parent_message_id)'],
        ['user_facts', 'source_message_id', 'SET NULL (source_message_id)'],
        ['adopted_messages', 'message_id', 'CASCADE']];
    reference TEXT[];
    given RECORD;
BEGIN
    FOREACH reference SLICE 1 IN ARRAY wanted LOOP
        CONTINUE WHEN to_regclass(reference[1]) IS NULL OR EXISTS (
            SELECT FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY(conkey)
            WHERE contype = 'f' AND conrelid = to_regclass(reference[1]) AND attname = reference[2]);
        EXECUTE format('ALTER TABLE %I ADD FOREIGN KEY (user_id, %I) REFERENCES conversation_messages ON DELETE %s',
                       reference[1], reference[2], reference[3]);
    END LOOP;
    IF to_regprocedure('ltst_forget_kept_words()') IS NOT NULL
       AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'forget_kept_words_trigger'
                       AND tgrelid = 'conversation_messages'::regclass) THEN
        {trigger};
    END IF;
    IF to_regclass('ledger_positions') IS NOT NULL THEN
        SET LOCAL ROLE ltst_keeper;
        SELECT coalesce(max(position), 0) AS position, coalesce(max(event_id), 0) AS event INTO given FROM event_ledger;
        RESET ROLE;
        PERFORM setval('ledger_positions', greatest(given.position, nextval('ledger_positions'))),
                setval('event_ledger_event_id_seq', greatest(given.event, nextval('event_ledger_event_id_seq')));
    END IF;
END $$;

-- name: finish
RESET ALL;
DO $$ BEGIN
    IF EXISTS (SELECT FROM ltst_migrations WHERE version > {newest}) THEN
        RAISE EXCEPTION 'a newer ltst made this backup: install that one';
    END IF;
END $$;
{whole}
{epochs}
{require}
{analyse}
COMMIT;
