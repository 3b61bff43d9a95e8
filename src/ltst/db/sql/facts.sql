-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || %(key)s, 0));

-- name: at
SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id
FROM user_facts
WHERE user_id = %(user_id)s AND (%(key)s::text IS NULL OR fact_key = %(key)s) AND rejected_at IS NULL
  AND valid_from <= coalesce(%(moment)s::timestamptz, clock_timestamp())
  AND (valid_to IS NULL OR valid_to > coalesce(%(moment)s::timestamptz, clock_timestamp()))
ORDER BY fact_key, valid_from, fact_id;

-- name: now
SELECT clock_timestamp();

-- name: get
SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id
FROM user_facts
WHERE user_id = %(user_id)s AND fact_id = %(fact_id)s::uuid;

-- name: history
SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id
FROM user_facts
WHERE user_id = %(user_id)s AND fact_key = %(key)s
ORDER BY valid_from, recorded_at, fact_id;

-- name: add
INSERT INTO user_facts (
    user_id, fact_id, fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, rejected_at)
VALUES (%(user_id)s, %(fact_id)s::uuid, %(key)s, %(value)s, %(confidence)s::float, %(source_message_id)s::uuid,
        %(valid_from)s::timestamptz, %(valid_from)s::timestamptz, %(rejected_at)s::timestamptz)
RETURNING fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id;

-- name: close
UPDATE user_facts AS fact SET valid_to = coalesce(line.ends, fact.valid_from), superseded_by = line.follower
FROM (
    SELECT fact_id, lead(valid_from) OVER following AS ends, lead(fact_id) OVER following AS follower
    FROM user_facts
    WHERE user_id = %(user_id)s AND fact_key = %(key)s AND rejected_at IS NULL AND single_valued
    WINDOW following AS (ORDER BY valid_from, recorded_at, fact_id)
) AS line
WHERE fact.user_id = %(user_id)s AND fact.fact_id = line.fact_id
  AND (fact.valid_to, fact.superseded_by) IS DISTINCT FROM (line.ends, line.follower);

-- name: open
UPDATE user_facts SET valid_to = NULL
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND rejected_at IS NULL AND single_valued
  AND superseded_by IS NULL AND valid_to IS NOT NULL;

-- name: confirm
UPDATE user_facts
SET confidence = greatest(confidence, %(confidence)s::float),
    source_message_id = coalesce(source_message_id, %(source_message_id)s::uuid)
WHERE user_id = %(user_id)s AND fact_id = %(fact_id)s::uuid
RETURNING fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id;

-- name: reject
UPDATE user_facts SET rejected_at = %(rejected_at)s::timestamptz
WHERE user_id = %(user_id)s AND fact_id = ANY(%(fact_ids)s::uuid[])
RETURNING fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
       rejected_at, metadata, fact_id, user_id;

-- name: forget
DELETE FROM user_facts WHERE user_id = %(user_id)s AND fact_key = %(key)s;
