-- columns: entry
content, metadata, occurred_at AS timestamp, source, importance_score, memory_type, entry_id, user_id, agent_name,
session_id, created_at, expires_at, last_used, usage_count, learned

-- name: add
INSERT INTO memory_entries (
    user_id, entry_id, memory_type, content, content_hash, importance_score, source, metadata, occurred_at, expires_at)
VALUES (%(user_id)s, %(entry_id)s::uuid, %(memory_type)s, %(content)s, %(content_hash)s, %(importance)s::float,
        %(source)s, %(metadata)s::jsonb, %(occurred_at)s::timestamptz, %(expires_at)s::timestamptz)
ON CONFLICT (user_id, memory_type, content_hash) DO UPDATE
SET importance_score = greatest(memory_entries.importance_score, excluded.importance_score),
    expires_at = CASE WHEN memory_entries.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                      ELSE greatest(memory_entries.expires_at, excluded.expires_at) END
RETURNING {entry};

-- name: get
SELECT {entry}, (SELECT known.embedding::real[] FROM row_vectors AS known
                 WHERE known.user_id = %(user_id)s AND row_id = entry_id) AS embedding
FROM memory_entries
WHERE user_id = %(user_id)s AND entry_id = %(entry_id)s::uuid
  AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: list
SELECT {entry}
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

-- name: learn
INSERT INTO memory_entries (
    user_id, entry_id, agent_name, session_id, memory_type, content, content_hash, importance_score, source, metadata,
    occurred_at, learned)
VALUES (%(user_id)s, %(entry_id)s::uuid, %(agent)s, %(session_id)s, 'episodic', %(content)s, %(content_hash)s,
        %(importance)s::float, 'conversation', %(metadata)s::jsonb, %(occurred_at)s::timestamptz, true)
ON CONFLICT (user_id, memory_type, content_hash) DO NOTHING;

-- name: unconsolidated
SELECT {entry}
FROM memory_entries
WHERE user_id = %(user_id)s AND NOT consolidated
  AND EXISTS (SELECT FROM row_vectors AS known WHERE known.user_id = %(user_id)s AND row_id = entry_id)
ORDER BY created_at, entry_id
LIMIT %(limit)s;

-- name: like
SELECT other.content, other.metadata, other.occurred_at AS timestamp, other.source, other.importance_score,
       other.memory_type, other.entry_id, other.user_id, other.agent_name, other.session_id, other.created_at,
       other.expires_at, other.last_used, other.usage_count, other.learned,
       1 - (theirs.embedding <=> own.embedding) AS similarity
FROM memory_entries AS entry
JOIN row_vectors AS own ON own.user_id = entry.user_id AND own.row_id = entry.entry_id
JOIN row_vectors AS theirs ON theirs.user_id = own.user_id AND theirs.kind = own.kind AND theirs.row_id <> own.row_id
JOIN memory_entries AS other ON other.user_id = theirs.user_id AND other.entry_id = theirs.row_id
 AND other.memory_type = entry.memory_type
 AND (other.consolidated OR (other.created_at, other.entry_id) < (entry.created_at, entry.entry_id))
WHERE entry.user_id = %(user_id)s AND entry.entry_id = %(entry_id)s::uuid
  AND 1 - (theirs.embedding <=> own.embedding) >= %(similarity)s::float
ORDER BY theirs.embedding <=> own.embedding
LIMIT %(limit)s;

-- name: merge
UPDATE memory_entries
SET metadata = %(metadata)s::jsonb, importance_score = greatest(importance_score, %(importance)s::float),
    usage_count = usage_count + %(usage_count)s::integer,
    expires_at = CASE WHEN expires_at IS NULL OR %(expires_at)s::timestamptz IS NULL THEN NULL
                      ELSE greatest(expires_at, %(expires_at)s::timestamptz) END
WHERE user_id = %(user_id)s AND entry_id = %(entry_id)s::uuid;

-- name: consolidated
UPDATE memory_entries SET consolidated = true
WHERE user_id = %(user_id)s AND entry_id = ANY(%(entry_ids)s::uuid[]) AND NOT consolidated;

-- name: compare_again
UPDATE memory_entries SET consolidated = false WHERE user_id = %(user_id)s AND learned AND consolidated;

-- name: forget_learned
DELETE FROM memory_entries WHERE user_id = %(user_id)s AND learned;

-- name: used
UPDATE memory_entries AS entry SET usage_count = entry.usage_count + given.times, last_used = now()
FROM unnest(%(ids)s::uuid[], %(times)s::integer[]) AS given (id, times)
WHERE entry.user_id = %(user_id)s AND entry.entry_id = given.id;

-- Looks at those who got an episode lately: nobody else comes to have too many. Entries of any kind are counted first,
-- since an index alone can do that.
-- name: prune
WITH crowded AS MATERIALIZED (
    SELECT user_id FROM (SELECT DISTINCT user_id FROM memory_entries
                         WHERE learned AND created_at > now() - interval '7 days') AS told
    WHERE %(budget)s::integer < (SELECT count(*) FROM memory_entries AS entry WHERE entry.user_id = told.user_id)
), ranked AS (
    SELECT user_id, entry_id,
           row_number() OVER (PARTITION BY user_id ORDER BY
               greatest(importance_score, 1e-9)
               * power(0.5::float8, least(100, greatest(-100,
                   extract(epoch FROM now() - coalesce(last_used, occurred_at)) / 15552000))::float8)
               + 0.1 * ln(1 + usage_count) DESC, entry_id) AS place
    FROM crowded JOIN memory_entries USING (user_id)
    WHERE learned
), gone AS (
    DELETE FROM memory_entries AS entry USING ranked
    WHERE entry.user_id = ranked.user_id AND entry.entry_id = ranked.entry_id AND ranked.place > %(budget)s::integer
    RETURNING entry.user_id, entry.entry_id
)
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
SELECT user_id, 'maintenance', 'prune', 'entry', entry_id::text FROM gone;

-- name: add_many
INSERT INTO memory_entries (
    user_id, entry_id, memory_type, content, content_hash, importance_score, source, metadata, occurred_at, expires_at)
SELECT %(user_id)s::text, entry_id, memory_type, content, content_hash, importance, source, metadata, occurred_at,
       expires_at
FROM json_to_recordset(%(rows)s::json) AS given (
    entry_id UUID, memory_type TEXT, content TEXT, content_hash TEXT, importance FLOAT, source TEXT, metadata JSONB,
    occurred_at TIMESTAMPTZ, expires_at TIMESTAMPTZ)
ORDER BY content_hash
ON CONFLICT (user_id, memory_type, content_hash) DO NOTHING
RETURNING entry_id;
