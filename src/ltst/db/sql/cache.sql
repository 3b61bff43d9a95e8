-- name: clean
SELECT clean_expired_cache();

-- The locks that every write of these users shares, so that none of it outlives its user; and the disk is not waited
-- for: what is lost in a crash is found anew.
-- name: share
SELECT set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock_shared(hashtextextended(user_id, 2))
FROM unnest(%(user_ids)s::text[]) AS user_id;

-- Kept only if nothing was written since the search began.
-- name: put
WITH found AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rows)s::json) AS found (
        user_id TEXT, cache_key TEXT, session_id TEXT, query_hash TEXT, hits JSONB, scores JSONB, milliseconds FLOAT,
        version BIGINT)
), owner AS MATERIALIZED (
    SELECT user_id, (SELECT max(event_id) FROM event_ledger AS event WHERE event.user_id = asking.user_id) AS newest,
           -- Or until a fact begins or ceases to hold, or an entry or a context expires: nobody writes then.
           least(now() + make_interval(secs => 3600 * %(hours)s::float),
                 (SELECT min(valid_from) FROM user_facts AS fact
                  WHERE fact.user_id = asking.user_id AND valid_from > now()),
                 (SELECT min(valid_to) FROM user_facts AS fact
                  WHERE fact.user_id = asking.user_id AND valid_to > now()),
                 (SELECT min(expires_at) FROM memory_entries AS entry
                  WHERE entry.user_id = asking.user_id AND expires_at > now()),
                 (SELECT min(expires_at) FROM conversation_context AS context
                  WHERE context.user_id = asking.user_id AND expires_at > now())) AS expires_at
    FROM (SELECT DISTINCT user_id FROM found) AS asking
)
INSERT INTO memory_retrieval_cache
    (user_id, cache_key, session_id, query_hash, retrieved_context, relevance_scores, retrieval_time_ms, version,
     expires_at)
SELECT user_id, cache_key, session_id, query_hash, hits, scores, milliseconds, version, expires_at
FROM found JOIN owner USING (user_id) WHERE version = newest
ON CONFLICT (user_id, cache_key) DO UPDATE
SET retrieved_context = EXCLUDED.retrieved_context, relevance_scores = EXCLUDED.relevance_scores,
    retrieval_time_ms = EXCLUDED.retrieval_time_ms, version = EXCLUDED.version, cache_hit_count = 0,
    created_at = now(), expires_at = EXCLUDED.expires_at;

-- name: count_hit
UPDATE memory_retrieval_cache SET cache_hit_count = cache_hit_count + 1, last_accessed = now()
WHERE user_id = %(user_id)s AND cache_key = %(cache_key)s;
