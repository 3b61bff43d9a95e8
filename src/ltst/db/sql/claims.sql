-- columns: claim
claim_id, message_id, noun, claim_key, claim_value, change, single_valued, confidence, said_at, valid_from, valid_to,
reader, details, recorded_at, row_id

-- name: add
INSERT INTO claims (user_id, claim_id, message_id, noun, claim_key, claim_value, change, single_valued, confidence,
                    said_at, valid_from, valid_to, reader, details)
SELECT %(user_id)s, given.claim_id, given.message_id, given.noun, given.claim_key, given.claim_value, given.change,
       given.single_valued, given.confidence, given.said_at, given.valid_from, given.valid_to, given.reader,
       given.details
FROM jsonb_populate_recordset(NULL::claims, %(rows)s::jsonb) AS given
JOIN conversation_messages AS message  -- it may be gone meanwhile
  ON message.user_id = %(user_id)s AND message.message_id = given.message_id
ON CONFLICT DO NOTHING
RETURNING noun, claim_key;

-- name: of
SELECT {claim}
FROM claims
WHERE user_id = %(user_id)s AND noun = %(noun)s AND claim_key = %(key)s AND NOT details @> '{"struck_out": true}'
ORDER BY said_at, claim_id;

-- What the rules read in these messages.
-- name: in_messages
SELECT {claim}
FROM claims
WHERE user_id = %(user_id)s AND message_id = ANY(%(message_ids)s::uuid[]) AND reader = 'local'
  AND NOT details @> '{"struck_out": true}'
ORDER BY said_at, claim_id;

-- What anybody read in these messages.
-- name: told_in
SELECT {claim}
FROM claims
WHERE user_id = %(user_id)s AND message_id = ANY(%(message_ids)s::uuid[]) AND change = 'holds'
  AND NOT details @> '{"struck_out": true}'
ORDER BY said_at, claim_id;

-- It stays, so that it is not read again, and counts no more.
-- name: strike_out
UPDATE claims SET details = details || '{"struck_out": true}', row_id = NULL
WHERE user_id = %(user_id)s AND claim_id = ANY(%(ids)s::uuid[]) AND reader = 'local'
RETURNING noun, claim_key;

-- name: said_in
SELECT DISTINCT noun, claim_key FROM claims
WHERE user_id = %(user_id)s AND message_id = %(message_id)s::uuid;

-- name: rest_on
UPDATE claims AS claim SET row_id = given.row_id
FROM unnest(%(claim_ids)s::uuid[], %(row_ids)s::uuid[]) AS given (claim_id, row_id)
WHERE claim.user_id = %(user_id)s AND claim.claim_id = given.claim_id AND claim.row_id IS DISTINCT FROM given.row_id;

-- name: kept
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM claims AS kept
WHERE user_id = %(user_id)s AND noun = %(noun)s AND claim_key = %(key)s
ORDER BY said_at, claim_id;

-- name: forget
DELETE FROM claims WHERE user_id = %(user_id)s AND noun = %(noun)s AND claim_key = %(key)s;

-- name: forget_learned
DELETE FROM claims WHERE user_id = %(user_id)s;

-- name: unsettled
SELECT noun, claim_key FROM unsettled_claims WHERE user_id = %(user_id)s ORDER BY noun, claim_key
FOR UPDATE SKIP LOCKED;

-- name: settled
DELETE FROM unsettled_claims WHERE user_id = %(user_id)s AND noun = %(noun)s AND claim_key = %(key)s;
