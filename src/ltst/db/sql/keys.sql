-- columns: key
key_id::text, user_id, name, created_at, last_used, revoked_at

-- name: add
INSERT INTO api_keys (user_id, key_id, name, key_hash)
VALUES (%(user_id)s, %(key_id)s, %(name)s, %(key_hash)s)
RETURNING {key};

-- name: list
SELECT {key}
FROM api_keys
WHERE %(user_id)s::text IS NULL OR user_id = %(user_id)s
ORDER BY created_at, key_id;

-- name: required
SELECT EXISTS (SELECT FROM key_requirement);

-- Whoever makes a key waits for the one who holds this row.
-- name: hold
SELECT since FROM key_requirement FOR UPDATE;

-- name: usable
SELECT count(*)::integer FROM api_keys WHERE revoked_at IS NULL;

-- name: require_none
DELETE FROM key_requirement;

-- name: find
SELECT {key}
FROM api_keys
WHERE key_hash = %(key_hash)s AND revoked_at IS NULL;

-- name: still_open
SELECT key_id::text FROM api_keys WHERE key_id = ANY(%(key_ids)s::uuid[]) AND revoked_at IS NULL;

-- name: used
UPDATE api_keys SET last_used = now() WHERE user_id = %(user_id)s AND key_id = %(key_id)s::uuid;

-- name: revoke
UPDATE api_keys SET revoked_at = now()
WHERE key_id = %(key_id)s::uuid AND revoked_at IS NULL
RETURNING user_id;

-- name: erase
DELETE FROM api_keys WHERE user_id = %(user_id)s;
