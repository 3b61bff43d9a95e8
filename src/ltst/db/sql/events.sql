-- The events that follow a place. A cursor whose epoch a restore replaced goes on from the root that both ledgers share.
-- One that this ledger never gave finds no row at all; one that nothing follows finds a row without an event.
-- part: from_the_place_on
place (epoch, position, event_id) AS (
    SELECT coalesce(%(epoch)s::bigint, (SELECT epoch FROM told), 0),
           coalesce(%(position)s::bigint, (SELECT position FROM told), 0), %(after)s::bigint
    UNION ALL
    SELECT root_epoch, root_position, root_event FROM place JOIN ledger_epochs USING (epoch) WHERE replaced),
newest AS (SELECT max(epoch) AS epoch FROM ledger_epochs WHERE NOT replaced)
SELECT event.*
FROM place JOIN ledger_epochs AS known USING (epoch), newest
LEFT JOIN LATERAL (
    SELECT event_id, user_id, occurred_at, actor, action, noun, row_id, details,
           epoch || '-' || position || '-' || event_id AS cursor
    FROM event_ledger AS event

-- Up to where the events are settled, if that was looked at before the statement.
-- part: settled
coalesce(nullif(current_setting('ltst.settled', true), '')::bigint, 9223372036854775807)

-- part: in_their_order
    ORDER BY event.epoch, event.position, event.event_id
    LIMIT %(limit)s) AS event ON true
WHERE NOT known.replaced
  AND NOT (place.epoch = newest.epoch AND place.position > (SELECT last_value FROM ledger_positions))

-- name: add
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
VALUES (%(user_id)s, %(actor)s, %(action)s, %(noun)s, %(row_id)s, %(details)s::jsonb);

-- name: list
WITH RECURSIVE told AS (
    SELECT epoch, position FROM event_ledger
    WHERE %(epoch)s::bigint IS NULL AND user_id = %(user_id)s AND event_id = %(after)s::bigint),
{from_the_place_on}
    WHERE user_id = %(user_id)s
      AND (event.epoch, event.position, event.event_id) > (place.epoch, place.position, place.event_id)
      AND (%(epoch)s::bigint IS NOT NULL OR EXISTS (SELECT FROM told) OR event.event_id > %(after)s::bigint)
      AND (event.epoch < newest.epoch OR event.position <= {settled})
{in_their_order};

-- An event is looked for from the end: who asks for what follows it mostly saw it a moment ago.
-- name: list_of_all
WITH RECURSIVE told AS (
    SELECT epoch, position FROM event_ledger
    WHERE %(epoch)s::bigint IS NULL AND event_id = %(after)s::bigint
    ORDER BY epoch DESC, position DESC, event_id DESC LIMIT 1),
{from_the_place_on}
    WHERE (event.epoch, event.position, event.event_id) > (place.epoch, place.position, place.event_id)
      AND (%(epoch)s::bigint IS NOT NULL OR EXISTS (SELECT FROM told) OR event.event_id > %(after)s::bigint)
      AND (event.epoch < newest.epoch OR event.position <= {settled})
{in_their_order};

-- The latest events of all users or of one, the newest first, before a place.
-- name: latest
SELECT event_id, user_id, occurred_at, actor, action, noun, row_id, details,
       epoch || '-' || position || '-' || event_id AS cursor
FROM event_ledger
WHERE (%(whose)s::text IS NULL OR user_id = %(whose)s)
  AND (%(epoch)s::bigint IS NULL
       OR (epoch, position, event_id) < (%(epoch)s::bigint, %(position)s::bigint, %(event_id)s::bigint))
ORDER BY epoch DESC, position DESC, event_id DESC
LIMIT %(limit)s;

-- The last settled event of all users.
-- name: last
WITH newest AS (SELECT max(epoch) AS epoch FROM ledger_epochs WHERE NOT replaced)
SELECT coalesce(
    (SELECT event.epoch || '-' || event.position || '-' || event.event_id FROM event_ledger AS event
     WHERE event.epoch < newest.epoch OR event.position <= {settled}
     ORDER BY event.epoch DESC, event.position DESC, event.event_id DESC LIMIT 1),
    newest.epoch || '-0-0')
FROM newest;

-- Whose events follow a place, and the last of them.
-- name: changed
WITH newest AS (SELECT max(epoch) AS epoch FROM ledger_epochs WHERE NOT replaced),
fresh AS (
    SELECT event.epoch, event.position, event.event_id, event.user_id FROM event_ledger AS event, newest
    WHERE (event.epoch, event.position, event.event_id)
        > (%(epoch)s::bigint, %(position)s::bigint, %(after)s::bigint)
      AND (event.epoch < newest.epoch OR event.position <= {settled})
    ORDER BY event.epoch, event.position, event.event_id
    LIMIT %(limit)s)
SELECT (SELECT epoch || '-' || position || '-' || event_id FROM fresh
        ORDER BY epoch DESC, position DESC, event_id DESC LIMIT 1) AS cursor,
       ARRAY(SELECT DISTINCT user_id::text FROM fresh) AS user_ids;

-- name: newest_epoch
SELECT max(epoch) FROM ledger_epochs WHERE NOT replaced;

-- name: add_many
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
SELECT %(user_id)s::text, %(actor)s::text, action, noun, row_id, details
FROM json_to_recordset(%(rows)s::json) AS given (action TEXT, noun TEXT, row_id TEXT, details JSONB);

-- The records of erasures stay: they are what a receipt is checked by. So does each user's newest event: it is the
-- version of their memory.
-- name: prune
DELETE FROM event_ledger AS event
WHERE occurred_at < now() - %(age)s::interval AND NOT (noun = 'user' AND action = 'erase')
  AND EXISTS (SELECT FROM event_ledger AS newer
              WHERE newer.user_id = event.user_id AND newer.event_id > event.event_id);

-- name: erasure
SELECT details ->> 'digest' FROM event_ledger
WHERE user_id = %(user_id)s AND action = 'erase' AND noun = 'user' AND row_id = %(receipt_id)s;
