-- name: clean
SELECT clean_expired_cache();

-- Whether someone is writing for this user: a write holds this lock, shared, until it is over.
-- name: writers
SELECT EXISTS (
    SELECT FROM pg_locks, (SELECT hashtextextended(%(user_id)s, 2) AS key) AS writing
    WHERE locktype = 'advisory' AND objsubid = 1
      AND classid = (key >> 32 & 4294967295)::oid AND objid = (key & 4294967295)::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()));

-- Kept only if nothing was written since the search began.
-- name: put
INSERT INTO memory_retrieval_cache
    (user_id, cache_key, session_id, query_hash, retrieved_context, relevance_scores, retrieval_time_ms, version,
     expires_at)
SELECT %(user_id)s::text, %(cache_key)s, %(session_id)s, %(query_hash)s, %(hits)s::jsonb, %(scores)s::jsonb,
       %(milliseconds)s::float, %(version)s::bigint,
       -- Or until a fact begins or ceases to hold, or an entry expires: nobody writes then.
       least(now() + interval '1 hour',
             (SELECT min(valid_from) FROM user_facts WHERE user_id = %(user_id)s AND valid_from > now()),
             (SELECT min(valid_to) FROM user_facts WHERE user_id = %(user_id)s AND valid_to > now()),
             (SELECT min(expires_at) FROM memory_entries WHERE user_id = %(user_id)s AND expires_at > now()))
WHERE %(version)s::bigint = (SELECT max(event_id) FROM event_ledger WHERE user_id = %(user_id)s)
ON CONFLICT (user_id, cache_key) DO UPDATE
SET retrieved_context = EXCLUDED.retrieved_context, relevance_scores = EXCLUDED.relevance_scores,
    retrieval_time_ms = EXCLUDED.retrieval_time_ms, version = EXCLUDED.version, cache_hit_count = 0,
    created_at = now(), expires_at = EXCLUDED.expires_at;

-- name: count_hit
UPDATE memory_retrieval_cache SET cache_hit_count = cache_hit_count + 1
WHERE user_id = %(user_id)s AND cache_key = %(cache_key)s;
