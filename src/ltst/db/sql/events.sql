-- name: add
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
VALUES (%(user_id)s, %(actor)s, %(action)s, %(noun)s, %(row_id)s, %(details)s::jsonb);

-- name: list
SELECT event_id, user_id, occurred_at, actor, action, noun, row_id, details
FROM event_ledger
WHERE user_id = %(user_id)s AND event_id > %(after)s::bigint
ORDER BY event_id
LIMIT %(limit)s;
