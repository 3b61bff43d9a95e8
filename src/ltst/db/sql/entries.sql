-- name: add
INSERT INTO memory_entries (
    user_id, entry_id, memory_type, content, content_hash, importance_score, source, metadata, occurred_at, expires_at)
VALUES (%(user_id)s, %(entry_id)s::uuid, %(memory_type)s, %(content)s, %(content_hash)s, %(importance)s::float,
        %(source)s, %(metadata)s::jsonb, %(occurred_at)s::timestamptz, %(expires_at)s::timestamptz)
ON CONFLICT (user_id, memory_type, content_hash) DO UPDATE
SET importance_score = greatest(memory_entries.importance_score, excluded.importance_score),
    expires_at = CASE WHEN memory_entries.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                      ELSE greatest(memory_entries.expires_at, excluded.expires_at) END
RETURNING content, metadata, occurred_at AS timestamp, source, importance_score, memory_type, entry_id, user_id, agent_name,
       session_id, created_at, expires_at, last_used, usage_count;

-- name: get
SELECT content, metadata, occurred_at AS timestamp, source, importance_score, memory_type, entry_id, user_id, agent_name,
       session_id, created_at, expires_at, last_used, usage_count
FROM memory_entries
WHERE user_id = %(user_id)s AND entry_id = %(entry_id)s::uuid
  AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: list
SELECT content, metadata, occurred_at AS timestamp, source, importance_score, memory_type, entry_id, user_id, agent_name,
       session_id, created_at, expires_at, last_used, usage_count
FROM memory_entries
WHERE user_id = %(user_id)s AND (%(memory_type)s::text IS NULL OR memory_type = %(memory_type)s)
  AND (expires_at IS NULL OR expires_at > clock_timestamp())
ORDER BY occurred_at DESC, entry_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: forget
DELETE FROM memory_entries WHERE user_id = %(user_id)s AND entry_id = %(entry_id)s::uuid;

-- name: clean
WITH gone AS (DELETE FROM memory_entries WHERE expires_at <= now() RETURNING user_id, entry_id)
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
SELECT user_id, 'maintenance', 'expire', 'entry', entry_id::text FROM gone;
