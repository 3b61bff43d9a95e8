-- name: add
INSERT INTO api_keys (user_id, key_id, name, key_hash)
VALUES (%(user_id)s, %(key_id)s, %(name)s, %(key_hash)s)
RETURNING key_id::text, user_id, name, created_at, last_used, revoked_at;

-- name: list
SELECT key_id::text, user_id, name, created_at, last_used, revoked_at
FROM api_keys
WHERE %(user_id)s::text IS NULL OR user_id = %(user_id)s
ORDER BY created_at, key_id;

-- name: exist
SELECT EXISTS (SELECT FROM api_keys);

-- name: find
SELECT key_id::text, user_id, name, created_at, last_used, revoked_at
FROM api_keys
WHERE key_hash = %(key_hash)s AND revoked_at IS NULL;

-- name: used
UPDATE api_keys SET last_used = now() WHERE user_id = %(user_id)s AND key_id = %(key_id)s::uuid;

-- name: revoke
UPDATE api_keys SET revoked_at = now()
WHERE key_id = %(key_id)s::uuid AND revoked_at IS NULL
RETURNING user_id;
