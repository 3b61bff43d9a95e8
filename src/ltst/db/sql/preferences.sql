-- columns: preference
preference_key, preference_value, preference_type, sensitive, confidence_score, source, usage_count, last_used,
metadata, created_at, updated_at, preference_id, user_id, learned

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(30) || %(key)s, 0));

-- name: set
INSERT INTO user_preferences (
    user_id, preference_id, preference_key, preference_value, preference_type, sensitive, confidence_score, source,
    learned, metadata)
VALUES (%(user_id)s, %(preference_id)s::uuid, %(key)s, %(value)s, %(type)s, %(sensitive)s::boolean,
        %(confidence)s::float, %(source)s, %(learned)s::boolean, %(metadata)s::jsonb)
ON CONFLICT (user_id, preference_key) DO UPDATE
SET preference_value = excluded.preference_value, preference_type = excluded.preference_type,
    sensitive = excluded.sensitive, confidence_score = excluded.confidence_score, source = excluded.source,
    learned = excluded.learned, metadata = excluded.metadata, updated_at = coalesce(%(at)s::timestamptz, now())
RETURNING {preference};

-- name: row_id
SELECT preference_id FROM user_preferences WHERE user_id = %(user_id)s AND preference_key = %(key)s;

-- name: get
SELECT {preference}
FROM user_preferences
WHERE user_id IN (%(user_id)s, 'system') AND preference_key = %(key)s
ORDER BY user_id = %(user_id)s DESC
LIMIT 1;

-- name: list
SELECT {preference}
FROM user_preferences
WHERE user_id = %(user_id)s AND (%(type)s::text IS NULL OR preference_type = %(type)s)
ORDER BY preference_key;

-- name: defaults
SELECT {preference}
FROM user_preferences
WHERE user_id = 'system' AND (%(type)s::text IS NULL OR preference_type = %(type)s)
  AND preference_key <> ALL (%(settings)s::text[])
ORDER BY preference_key;

-- name: operator_setting
SELECT preference_value FROM user_preferences WHERE user_id = 'system' AND preference_key = %(key)s;

-- name: forget
DELETE FROM user_preferences WHERE user_id = %(user_id)s AND preference_key = %(key)s;

-- name: add_key
INSERT INTO user_keys (user_id, key_version, wrapped_key, master_key_id)
VALUES (%(user_id)s, %(key_version)s::integer, %(wrapped_key)s::bytea, %(master_key_id)s)
ON CONFLICT DO NOTHING;

-- name: get_key
SELECT user_id, key_version, wrapped_key, master_key_id FROM user_keys WHERE user_id = %(user_id)s;

-- name: hold_key
SELECT user_id, key_version, wrapped_key, master_key_id FROM user_keys WHERE user_id = %(user_id)s FOR KEY SHARE;

-- name: keys_to_rewrap
SELECT user_id, key_version, wrapped_key, master_key_id FROM user_keys
WHERE master_key_id = ANY(%(master_key_ids)s::text[])
ORDER BY user_id
LIMIT %(limit)s
FOR UPDATE;

-- name: rewrap_key
UPDATE user_keys SET wrapped_key = %(wrapped_key)s::bytea, master_key_id = %(master_key_id)s
WHERE user_id = %(user_id)s AND key_version = %(key_version)s::integer;

-- name: own
SELECT {preference}
FROM user_preferences
WHERE user_id = %(user_id)s AND preference_key = %(key)s;

-- name: used
UPDATE user_preferences AS preference
SET usage_count = preference.usage_count + given.times, last_used = now()
FROM unnest(%(ids)s::uuid[], %(times)s::integer[]) AS given (id, times)
WHERE preference.user_id = %(user_id)s AND preference.preference_id = given.id;
