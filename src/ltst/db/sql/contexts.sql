-- columns: context
session_id, context_type, context_key, context_value, relevance_score, metadata, expires_at, context_id, user_id,
context_hash, created_at

-- name: set
INSERT INTO conversation_context (
    user_id, session_id, context_id, context_type, context_key, context_value, relevance_score, context_hash,
    metadata, expires_at)
VALUES (%(user_id)s, %(session_id)s, %(context_id)s::uuid, %(context_type)s, %(context_key)s, %(context_value)s,
        %(relevance_score)s::float, %(context_hash)s, %(metadata)s::jsonb, %(expires_at)s::timestamptz)
ON CONFLICT (user_id, session_id, context_type, ltst_sha256(context_key)) DO UPDATE
SET context_value = excluded.context_value, relevance_score = excluded.relevance_score,
    context_hash = excluded.context_hash, metadata = excluded.metadata, expires_at = excluded.expires_at
WHERE (conversation_context.context_hash, conversation_context.relevance_score, conversation_context.metadata,
       conversation_context.expires_at)
      IS DISTINCT FROM (excluded.context_hash, excluded.relevance_score, excluded.metadata, excluded.expires_at)
RETURNING {context};

-- name: known
SELECT {context}
FROM conversation_context
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND context_type = %(context_type)s
  AND context_key = %(context_key)s;

-- name: list
SELECT {context}
FROM conversation_context
WHERE user_id = %(user_id)s AND session_id = %(session_id)s
  AND (%(context_type)s::text IS NULL OR context_type = %(context_type)s)
  AND (%(context_key)s::text IS NULL OR context_key = %(context_key)s)
  AND (expires_at IS NULL OR expires_at > clock_timestamp())
ORDER BY context_type, context_key;

-- name: forget
DELETE FROM conversation_context
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND context_type = %(context_type)s
  AND (%(context_key)s::text IS NULL OR context_key = %(context_key)s);

-- name: fork
INSERT INTO conversation_context (
    user_id, session_id, context_type, context_key, context_value, relevance_score, context_hash, metadata, expires_at)
SELECT user_id, %(fork_id)s, context_type, context_key, context_value, relevance_score, context_hash, metadata, expires_at
FROM conversation_context
WHERE user_id = %(user_id)s AND session_id = %(session_id)s
  AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: clean
SELECT clean_expired_context();

-- A session has too many only if it got one lately.
-- name: prune
WITH crowded AS MATERIALIZED (
    SELECT user_id, session_id FROM (SELECT DISTINCT user_id, session_id FROM conversation_context
                                     WHERE created_at > now() - interval '7 days') AS told
    WHERE %(most)s::integer < (SELECT count(*) FROM conversation_context AS context
                               WHERE context.user_id = told.user_id AND context.session_id = told.session_id)
), ranked AS (
    SELECT user_id, context_id,
           row_number() OVER (PARTITION BY user_id, session_id
                              ORDER BY relevance_score DESC, created_at DESC, context_id) AS place
    FROM crowded JOIN conversation_context USING (user_id, session_id)
), gone AS (
    DELETE FROM conversation_context AS context USING ranked
    WHERE context.user_id = ranked.user_id AND context.context_id = ranked.context_id
      AND ranked.place > %(most)s::integer
    RETURNING context.user_id, context.context_id
)
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
SELECT user_id, 'maintenance', 'prune', 'context', context_id::text FROM gone;
