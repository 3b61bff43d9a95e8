-- name: add_many
INSERT INTO memory_performance_metrics (
    user_id, operation_type, operation_name, session_id, operation_hash, execution_time_ms, result_count, cache_hit,
    error_message, created_at)
SELECT * FROM unnest(
    %(users)s::text[], %(types)s::text[], %(names)s::text[], %(sessions)s::text[], %(hashes)s::text[],
    %(times)s::float[], %(counts)s::integer[], %(hits)s::boolean[], %(errors)s::text[], %(moments)s::timestamptz[]);

-- name: operations
SELECT operation_name AS name,
       count(*)::integer AS count,
       count(error_message)::integer AS errors,
       percentile_cont(0.50) WITHIN GROUP (ORDER BY execution_time_ms) AS p50_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY execution_time_ms) AS p95_ms,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY execution_time_ms) AS p99_ms,
       max(execution_time_ms) AS max_ms,
       avg(cache_hit::integer)::float AS cache_hit_rate
FROM memory_performance_metrics
WHERE created_at > now() - interval '1 day'
GROUP BY operation_name
ORDER BY count(*) DESC, operation_name;

-- name: tables
SELECT name, rows, bytes FROM ltst_table_sizes(%(tables)s::text[]) ORDER BY bytes DESC, name;

-- name: growth
SELECT 'conversation_sessions' AS name, count(*) AS added FROM conversation_sessions
    WHERE created_at > now() - interval '1 day'
UNION ALL SELECT 'conversation_messages', coalesce(sum(coalesce((details ->> 'count')::bigint, 1)), 0) FROM event_ledger
    WHERE noun = 'message' AND action = 'add' AND occurred_at > now() - interval '1 day'
UNION ALL SELECT 'user_facts', count(*) FROM user_facts WHERE recorded_at > now() - interval '1 day'
UNION ALL SELECT 'memory_entries', count(*) FROM memory_entries WHERE created_at > now() - interval '1 day'
UNION ALL SELECT 'documents', count(*) FROM documents WHERE created_at > now() - interval '1 day'
UNION ALL SELECT 'user_preferences', count(*) FROM user_preferences WHERE created_at > now() - interval '1 day'
UNION ALL SELECT 'event_ledger', count(*) FROM event_ledger WHERE occurred_at > now() - interval '1 day';

-- name: database_bytes
SELECT pg_database_size(current_database());

-- name: slow
SELECT count(*)::integer FROM memory_performance_metrics
WHERE execution_time_ms > %(threshold_ms)s::float AND created_at > now() - interval '1 day';

-- name: prune
DELETE FROM memory_performance_metrics WHERE created_at < now() - %(age)s::interval;

-- name: activity
SELECT extract(epoch FROM date_bin(%(step)s::interval, created_at, 'epoch'::timestamptz))::bigint AS at,
       count(*)::integer AS operations,
       count(error_message)::integer AS errors,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY execution_time_ms) AS p50_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY execution_time_ms) AS p95_ms,
       avg(cache_hit::integer)::float AS cache_hit_rate,
       coalesce(sum(result_count) FILTER (WHERE operation_type = 'storage'), 0)::integer AS written
FROM memory_performance_metrics
WHERE created_at > now() - %(span)s::interval
GROUP BY 1
ORDER BY 1;
