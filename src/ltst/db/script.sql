-- The frame of the script that makes the schema.

-- name: beginning
-- The schema of ltst. Safe to run twice: it applies what is missing, all of it or, when something fails, nothing.
BEGIN;
SELECT pg_advisory_xact_lock({lock});
CREATE EXTENSION IF NOT EXISTS vector;
DO $$
BEGIN
    IF current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION 'ltst needs Postgres 15 or newer';
    ELSIF EXISTS (SELECT FROM pg_extension
                  WHERE extname = 'vector' AND string_to_array(extversion, '.')::integer[] < '{{0,8,4}}') THEN
        RAISE EXCEPTION 'ltst needs pgvector 0.8.4 or newer' USING HINT = 'run: ALTER EXTENSION vector UPDATE';
    END IF;
END $$;
{table};
CREATE OR REPLACE FUNCTION pg_temp.ltst_apply(number INTEGER, title TEXT, hash TEXT, script TEXT) RETURNS TEXT
LANGUAGE plpgsql AS $$
DECLARE
    applied TEXT := (SELECT sha256 FROM ltst_migrations WHERE version = number);
BEGIN
    IF applied = hash THEN
        RETURN title || ': was applied before';
    ELSIF applied IS NOT NULL THEN
        RAISE EXCEPTION 'migration % differs from the one that was applied to this database', title;
    END IF;
    EXECUTE script;
    INSERT INTO ltst_migrations (version, name, sha256) VALUES (number, title, hash);
    RETURN title || ': applied';
END $$;

-- name: end
DROP FUNCTION pg_temp.ltst_apply(INTEGER, TEXT, TEXT, TEXT);
COMMIT;
