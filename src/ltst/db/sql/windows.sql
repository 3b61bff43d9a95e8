-- Which database this is among all that may share a cache: the cluster, the database in it, the schema.
-- name: database
SELECT system_identifier::text || ':' || (SELECT oid FROM pg_database WHERE datname = current_database())::text
       || ':' || current_schema()::text
FROM pg_control_system();

-- name: difference
SELECT kept, version, session_id, role, content, message_type, message_index, parent_message_id, metadata,
       relevance_score, is_context_message, timestamp, message_id, user_id, content_hash, context_hash, message_key,
       token_count, created_at
FROM ltst_window_difference(
    %(user_id)s, %(session_id)s, %(limit)s::integer, %(max_tokens)s::integer, %(known)s::jsonb);
