-- columns: fact
fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by, rejected_at,
metadata, fact_id, user_id, learned, single_valued, ended_at, about

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(31) || %(key)s, 0));

-- name: at
SELECT {fact}
FROM user_facts
WHERE user_id = %(user_id)s AND (%(key)s::text IS NULL OR fact_key = %(key)s)
  AND (%(about)s::text IS NULL OR lower(about) = lower(%(about)s)) AND rejected_at IS NULL
  AND valid_from <= coalesce(%(moment)s::timestamptz, clock_timestamp())
  AND (valid_to IS NULL OR valid_to > coalesce(%(moment)s::timestamptz, clock_timestamp()))
ORDER BY about <> 'me', lower(about), fact_key, valid_from, fact_id;

-- name: now
SELECT clock_timestamp();

-- name: get
SELECT {fact}
FROM user_facts
WHERE user_id = %(user_id)s AND fact_id = %(fact_id)s::uuid;

-- name: history
SELECT {fact}
FROM user_facts
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND lower(about) = lower(%(about)s)
ORDER BY valid_from, recorded_at, fact_id;

-- name: changes
SELECT {fact}
FROM user_facts
WHERE user_id = %(user_id)s
ORDER BY greatest(recorded_at, rejected_at, ended_at) DESC, fact_id DESC
LIMIT %(limit)s OFFSET %(offset)s;

-- name: replaced
SELECT {fact}
FROM user_facts
WHERE user_id = %(user_id)s AND superseded_by = ANY(%(fact_ids)s::uuid[]) AND rejected_at IS NULL
ORDER BY valid_from, fact_id;

-- name: kept
SELECT to_jsonb(kept) - '{user_id,embedding}'::text[] FROM user_facts AS kept
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND lower(about) = lower(%(about)s)
ORDER BY valid_from, recorded_at, fact_id;

-- name: add
INSERT INTO user_facts (
    user_id, fact_id, about, fact_key, fact_value, single_valued, confidence, source_message_id, valid_from, valid_to,
    rejected_at)
VALUES (%(user_id)s, %(fact_id)s::uuid, %(about)s, %(key)s, %(value)s, %(single_valued)s::boolean,
        %(confidence)s::float, %(source_message_id)s::uuid, %(valid_from)s::timestamptz, %(valid_from)s::timestamptz,
        %(rejected_at)s::timestamptz)
RETURNING {fact};

-- name: release
UPDATE user_facts SET valid_to = valid_from, superseded_by = NULL
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND rejected_at IS NULL AND valid_to IS NULL
  AND fact_id = ANY(%(fact_ids)s::uuid[]);

-- name: place
INSERT INTO user_facts (user_id, fact_id, about, fact_key, fact_value, single_valued, confidence, source_message_id,
                        valid_from, valid_to, superseded_by, ended_at, metadata, learned)
SELECT %(user_id)s, given.fact_id, given.about, given.fact_key, given.fact_value, given.single_valued,
       given.confidence, given.source_message_id, given.valid_from, given.valid_to, given.superseded_by,
       given.ended_at, given.metadata, given.learned
FROM jsonb_populate_recordset(NULL::user_facts, %(rows)s::jsonb) AS given
ON CONFLICT (user_id, fact_id) DO UPDATE
SET single_valued = excluded.single_valued, confidence = excluded.confidence,
    source_message_id = excluded.source_message_id, valid_from = excluded.valid_from, valid_to = excluded.valid_to,
    superseded_by = excluded.superseded_by, ended_at = excluded.ended_at, metadata = excluded.metadata;

-- name: remove
DELETE FROM user_facts WHERE user_id = %(user_id)s AND fact_id = ANY(%(fact_ids)s::uuid[]);

-- name: end
UPDATE user_facts SET ended_at = %(ended_at)s::timestamptz, learned = false
WHERE user_id = %(user_id)s AND fact_id = ANY(%(fact_ids)s::uuid[]);

-- name: confirm
UPDATE user_facts
SET confidence = greatest(confidence, %(confidence)s::float),
    source_message_id = coalesce(source_message_id, %(source_message_id)s::uuid), learned = false
WHERE user_id = %(user_id)s AND fact_id = %(fact_id)s::uuid
RETURNING {fact};

-- name: reject
UPDATE user_facts SET rejected_at = %(rejected_at)s::timestamptz, learned = false
WHERE user_id = %(user_id)s AND fact_id = ANY(%(fact_ids)s::uuid[])
RETURNING {fact};

-- name: forget
DELETE FROM user_facts
WHERE user_id = %(user_id)s AND fact_key = %(key)s AND lower(about) = lower(%(about)s);
