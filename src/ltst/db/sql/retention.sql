-- name: set
INSERT INTO retention_policies (user_id, session_type, archive_after, delete_after)
VALUES (%(user_id)s, %(session_type)s, %(archive_after)s::interval, %(delete_after)s::interval)
ON CONFLICT (user_id, session_type) DO UPDATE
SET archive_after = excluded.archive_after, delete_after = excluded.delete_after, updated_at = now()
RETURNING session_type, archive_after, delete_after, updated_at;

-- name: list
SELECT session_type, archive_after, delete_after, updated_at
FROM retention_policies
WHERE user_id = %(user_id)s
ORDER BY session_type;

-- name: forget
DELETE FROM retention_policies WHERE user_id = %(user_id)s AND session_type = %(session_type)s;
