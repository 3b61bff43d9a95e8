-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || %(key)s, 0));

-- name: at
SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id
FROM user_facts
WHERE user_id = %(user_id)s AND (%(key)s::text IS NULL OR fact_key = %(key)s) AND rejected_at IS NULL
  AND valid_from <= %(moment)s::timestamptz AND (valid_to IS NULL OR valid_to > %(moment)s::timestamptz)
ORDER BY fact_key, valid_from, fact_id;

-- name: following
SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id
FROM user_facts
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND rejected_at IS NULL AND valid_from > %(moment)s::timestamptz
ORDER BY valid_from
LIMIT 1;

-- name: history
SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id
FROM user_facts
WHERE user_id = %(user_id)s AND fact_key = %(key)s
ORDER BY valid_from, recorded_at, fact_id;

-- name: rejection
SELECT rejected_at FROM user_facts
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND rejected_at IS NOT NULL
  AND lower(btrim(fact_value)) = lower(btrim(%(value)s))
LIMIT 1;

-- name: add
INSERT INTO user_facts (
    user_id, fact_id, fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, rejected_at)
VALUES (%(user_id)s, %(fact_id)s::uuid, %(key)s, %(value)s, %(confidence)s::float, %(source_message_id)s::uuid,
        %(valid_from)s::timestamptz, %(valid_to)s::timestamptz, %(rejected_at)s::timestamptz)
RETURNING fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id;

-- name: close
UPDATE user_facts SET valid_to = %(valid_to)s::timestamptz, superseded_by = %(superseded_by)s::uuid
WHERE user_id = %(user_id)s AND fact_id = %(fact_id)s::uuid;

-- name: confirm
UPDATE user_facts
SET confidence = greatest(confidence, %(confidence)s::float),
    source_message_id = coalesce(source_message_id, %(source_message_id)s::uuid)
WHERE user_id = %(user_id)s AND fact_id = %(fact_id)s::uuid
RETURNING fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id;

-- name: reject
UPDATE user_facts SET rejected_at = %(rejected_at)s::timestamptz
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND rejected_at IS NULL
  AND lower(btrim(fact_value)) = lower(btrim(%(value)s))
RETURNING fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id;

-- name: reopen
UPDATE user_facts AS earlier SET valid_to = %(valid_to)s::timestamptz, superseded_by = %(superseded_by)s::uuid
WHERE earlier.user_id = %(user_id)s AND earlier.superseded_by = %(rejected)s::uuid AND earlier.rejected_at IS NULL;

-- name: forget
DELETE FROM user_facts WHERE user_id = %(user_id)s AND fact_key = %(key)s;
