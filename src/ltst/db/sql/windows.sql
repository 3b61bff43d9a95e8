-- Which database this is among all that may share a cache: the cluster, the database in it, the schema.
-- name: database
SELECT system_identifier::text || ':' || (SELECT oid FROM pg_database WHERE datname = current_database())::text
       || ':' || current_schema()::text
FROM pg_control_system();

-- name: difference
SELECT kept, version, {message}
FROM ltst_window_difference(
    %(user_id)s, %(session_id)s, %(limit)s::integer, %(max_tokens)s::integer, %(known)s::jsonb);
