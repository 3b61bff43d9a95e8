-- name: vector_version
SELECT extversion FROM pg_extension WHERE extname = 'vector';

-- name: unprotected_tables
SELECT relname::text FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND relname = ANY(%(tables)s::text[]) AND NOT (relrowsecurity AND relforcerowsecurity);

-- Of a place: the tables whose shards show the keeper rows without asking a policy. Citus hides shards in pg_class. A
-- server that is not distributed has none.
-- name: unprotected_shards
SELECT relname::text FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v' AND relname = ANY(%(tables)s::text[])
  AND NOT row_security_active(ltst_shard_of(oid)::oid);

-- name: scanned_tables
SELECT relname::text AS name, seq_scan::integer AS scans, n_live_tup::bigint AS rows
FROM pg_stat_user_tables
WHERE schemaname = current_schema() AND relname = ANY(%(tables)s::text[])
  AND n_live_tup > 10000 AND seq_scan > 100 AND seq_scan > coalesce(idx_scan, 0) / 10;

-- name: running_long
SELECT count(*)::integer FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND backend_type = 'client backend'
  AND query_start < now() - interval '5 seconds' AND pid <> pg_backend_pid();

-- name: master_keys
SELECT master_key_id AS id, count(*)::integer AS users FROM user_keys GROUP BY 1 ORDER BY 2 DESC, 1;
