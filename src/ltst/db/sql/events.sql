-- name: add
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
VALUES (%(user_id)s, %(actor)s, %(action)s, %(noun)s, %(row_id)s, %(details)s::jsonb);

-- name: list
WITH place AS (
    SELECT xact FROM event_ledger
    WHERE %(xact)s::text IS NULL AND user_id = %(user_id)s AND event_id = %(after)s::bigint)
SELECT event_id, user_id, occurred_at, actor, action, noun, row_id, details,
       xact::text || '-' || event_id AS cursor
FROM event_ledger
WHERE user_id = %(user_id)s
  AND (xact, event_id) > (coalesce(%(xact)s::text::xid8, (SELECT xact FROM place), '0'::xid8), %(after)s::bigint)
  AND (%(xact)s::text IS NOT NULL OR EXISTS (SELECT FROM place) OR event_id > %(after)s::bigint)
  AND (NOT %(settled)s OR xact < pg_snapshot_xmin(pg_current_snapshot()))
ORDER BY xact, event_id
LIMIT %(limit)s;

-- An event is looked for from the end: who asks for what follows it mostly saw it a moment ago.
-- name: list_of_all
WITH place AS (
    SELECT xact FROM event_ledger
    WHERE %(xact)s::text IS NULL AND event_id = %(after)s::bigint
    ORDER BY xact DESC, event_id DESC LIMIT 1)
SELECT event_id, user_id, occurred_at, actor, action, noun, row_id, details,
       xact::text || '-' || event_id AS cursor
FROM event_ledger
WHERE (xact, event_id) > (coalesce(%(xact)s::text::xid8, (SELECT xact FROM place), '0'::xid8), %(after)s::bigint)
  AND (%(xact)s::text IS NOT NULL OR EXISTS (SELECT FROM place) OR event_id > %(after)s::bigint)
  AND xact < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xact, event_id
LIMIT %(limit)s;

-- name: add_many
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
SELECT %(user_id)s::text, %(actor)s::text, action, noun, row_id, details
FROM json_to_recordset(%(rows)s::json) AS given (action TEXT, noun TEXT, row_id TEXT, details JSONB);
