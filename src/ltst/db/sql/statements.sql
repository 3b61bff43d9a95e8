-- Spans of messages: the words are read from them.

-- columns: statement
substr(content, start_at + 1, end_at - start_at) AS content, kind, about, said_at, since, until, superseded_by,
superseded_at, confidence, trust, origin, message_id, session_id, message_index AS position, start_at, end_at,
recorded_at, rejected_at, statement_id, user_id

-- A span that was rejected is not read again, nor is a copy of it in a message of the same words.
-- name: add
INSERT INTO statements (user_id, statement_id, message_id, start_at, end_at, kind, about, said_at, since, until,
                        confidence, origin)
SELECT %(user_id)s, given.statement_id, given.message_id, given.start_at, given.end_at, given.kind, given.about,
       message.timestamp, given.since, given.until, given.confidence, given.origin
FROM jsonb_populate_recordset(NULL::statements, %(rows)s::jsonb) AS given
JOIN conversation_messages AS message  -- it may be gone meanwhile
  ON message.user_id = %(user_id)s AND message.message_id = given.message_id
WHERE given.end_at <= char_length(message.content)
  AND NOT EXISTS (
      SELECT FROM statements AS rejected JOIN conversation_messages AS copied USING (user_id, message_id)
      WHERE rejected.user_id = %(user_id)s AND rejected.rejected_at IS NOT NULL
        AND rejected.start_at = given.start_at AND rejected.end_at = given.end_at
        AND copied.content_hash = message.content_hash)
ON CONFLICT DO NOTHING
RETURNING statement_id::text;

-- name: get
SELECT {statement}
FROM statements JOIN conversation_messages USING (user_id, message_id)
WHERE user_id = %(user_id)s AND statement_id = %(statement_id)s::uuid;

-- name: list
SELECT {statement}
FROM statements JOIN conversation_messages USING (user_id, message_id)
WHERE user_id = %(user_id)s AND rejected_at IS NULL
  AND (%(about)s::text IS NULL OR lower(about) = lower(%(about)s))
  AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(session_id)s::text IS NULL OR session_id = %(session_id)s)
  AND (%(current)s::boolean IS NULL
       OR %(current)s = (superseded_at IS NULL AND (until IS NULL OR until > now())))
ORDER BY said_at DESC, message_index DESC, start_at DESC
LIMIT %(limit)s;

-- name: in_messages
SELECT {statement}
FROM statements JOIN conversation_messages USING (user_id, message_id)
WHERE user_id = %(user_id)s AND message_id = ANY(%(message_ids)s::uuid[]) AND rejected_at IS NULL
ORDER BY said_at, message_index, start_at;

-- name: describe
UPDATE statements SET kind = %(kind)s, about = %(about)s, since = %(since)s, until = %(until)s
WHERE user_id = %(user_id)s AND statement_id = %(statement_id)s::uuid AND origin <> 'hand' AND rejected_at IS NULL
  AND (kind, about, since, until) IS DISTINCT FROM (%(kind)s, %(about)s, %(since)s::timestamptz, %(until)s::timestamptz);

-- A language model says that these are none: low trust tells them from what a person rejected.
-- name: strike_out
WITH struck AS (
    UPDATE statements SET rejected_at = now(), trust = 'low', superseded_by = NULL, superseded_at = NULL
    WHERE user_id = %(user_id)s AND statement_id = ANY(%(ids)s::uuid[]) AND rejected_at IS NULL
      AND origin IN ('gate', 'rule')
    RETURNING statement_id
), restored AS (
    UPDATE statements AS older SET superseded_by = NULL, superseded_at = NULL, compared = false
    FROM struck WHERE older.user_id = %(user_id)s AND older.superseded_by = struck.statement_id
)
SELECT statement_id::text FROM struck;

-- name: reject
WITH struck AS (
    UPDATE statements SET rejected_at = now(), trust = 'normal', superseded_by = NULL, superseded_at = NULL
    WHERE user_id = %(user_id)s AND statement_id = %(statement_id)s::uuid AND (rejected_at IS NULL OR trust = 'low')
    RETURNING statement_id
)
-- What it took the place of holds again.
UPDATE statements AS older SET superseded_by = NULL, superseded_at = NULL, compared = false
FROM struck WHERE older.user_id = %(user_id)s AND older.superseded_by = struck.statement_id;

-- A rejection by a person is taken back; what it takes the place of is found anew.
-- name: take_back
UPDATE statements SET rejected_at = NULL, compared = false
WHERE user_id = %(user_id)s AND statement_id = %(statement_id)s::uuid AND rejected_at IS NOT NULL AND trust <> 'low';

-- What the message of a statement cast doubt on is believed again, and compared anew.
-- name: believe
UPDATE statements AS older SET doubt = 0, doubted_by = NULL, compared = false
FROM statements AS struck
WHERE struck.user_id = %(user_id)s AND struck.statement_id = %(statement_id)s::uuid
  AND older.user_id = %(user_id)s AND older.doubted_by = struck.message_id;

-- name: forget_learned
DELETE FROM statements WHERE user_id = %(user_id)s AND origin <> 'hand' AND (rejected_at IS NULL OR trust = 'low');

-- Those that were not compared and can be: they have vectors, or their messages do.
-- name: uncompared
SELECT statement_id::text, message_id::text, substr(content, start_at + 1, end_at - start_at) AS content, stated.kind,
       said_at, message_index AS position, start_at, 1.0 AS nearness
FROM statements AS stated JOIN conversation_messages AS message USING (user_id, message_id)
WHERE user_id = %(user_id)s AND NOT compared AND rejected_at IS NULL
  AND ltst_statement_vector(user_id, statement_id, message_id) IS NOT NULL
ORDER BY said_at, message_index, start_at
LIMIT %(limit)s;

-- The nearest of the latest before it, or of those after it that were compared already; not of the same message.
-- name: nearest
WITH given AS (
    SELECT said_at, message_id, ltst_statement_vector(user_id, statement_id, message_id) AS vector
    FROM statements WHERE user_id = %(user_id)s AND statement_id = %(statement_id)s::uuid
), other AS (
    SELECT stated.*, message.content, message_index
    FROM given, statements AS stated JOIN conversation_messages AS message USING (user_id, message_id)
    WHERE user_id = %(user_id)s AND rejected_at IS NULL AND stated.message_id <> given.message_id
      AND CASE WHEN %(later)s::boolean THEN stated.compared
                    AND (stated.said_at, message_index) > (given.said_at, %(position)s::integer)
               ELSE (stated.said_at, message_index) < (given.said_at, %(position)s::integer) END
    ORDER BY stated.said_at DESC
    LIMIT 2000
)
SELECT statement_id::text, other.message_id::text, substr(content, start_at + 1, end_at - start_at) AS content, kind,
       other.said_at, message_index AS position, start_at, 1 - (found.vector <=> given.vector) AS nearness
FROM given, other, ltst_statement_vector(user_id, statement_id, other.message_id) AS found (vector)
WHERE found.vector IS NOT NULL AND given.vector IS NOT NULL
ORDER BY found.vector <=> given.vector
LIMIT %(limit)s;

-- The first that takes its place stays the one that did.
-- name: supersede
UPDATE statements AS older SET superseded_by = newer.statement_id, superseded_at = newer.said_at
FROM statements AS newer
WHERE older.user_id = %(user_id)s AND older.statement_id = %(older)s::uuid
  AND newer.user_id = %(user_id)s AND newer.statement_id = %(newer)s::uuid
  AND (older.superseded_at IS NULL OR older.superseded_at > newer.said_at);

-- Messages that state something.
-- name: telling
SELECT message_id::text, left(content, %(length)s::integer) AS content, session_id::text, timestamp AS said_at,
       message_index AS position, 1.0 AS nearness
FROM conversation_messages WHERE user_id = %(user_id)s AND message_id = ANY(%(message_ids)s::uuid[]);

-- Of the latest messages before one, or after it, that state something and were compared: the nearest. Each table is read
-- by itself, with the ids of the step before: a planner that knows nothing of a new user would join them row by row.
-- name: nearest_telling
WITH given AS MATERIALIZED (
    SELECT timestamp AS said_at, message_index, vector.embedding
    FROM conversation_messages AS message
    JOIN row_vectors AS vector ON vector.user_id = message.user_id AND vector.row_id = message.message_id
    WHERE message.user_id = %(user_id)s AND message.message_id = %(message_id)s::uuid
), other AS MATERIALIZED (
    SELECT message_id FROM given, statements AS stated
    WHERE user_id = %(user_id)s AND rejected_at IS NULL AND message_id <> %(message_id)s::uuid
      AND CASE WHEN %(later)s::boolean THEN compared AND stated.said_at >= given.said_at
               ELSE stated.said_at <= given.said_at END
    GROUP BY message_id, stated.said_at
    ORDER BY stated.said_at DESC
    LIMIT 1000
), unit AS MATERIALIZED (
    SELECT row_id, unit_no FROM given, search_units
    WHERE user_id = %(user_id)s AND row_id = ANY((SELECT array_agg(message_id) FROM other)::uuid[])
      AND CASE WHEN %(later)s::boolean THEN (occurred_at, position) > (said_at, message_index)
               ELSE (occurred_at, position) < (said_at, message_index) END
), near AS MATERIALIZED (
    SELECT unit_no, vector.embedding <=> given.embedding AS distance FROM given, search_vectors AS vector
    WHERE user_id = %(user_id)s AND part = 0 AND unit_no = ANY((SELECT array_agg(unit_no) FROM unit)::integer[])
      AND model = (SELECT number FROM embedding_models WHERE state = 'active')
    ORDER BY distance
    LIMIT %(limit)s
), nearest AS MATERIALIZED (
    SELECT row_id, distance FROM near JOIN unit USING (unit_no)
)
SELECT message_id::text, left(content, %(length)s::integer) AS content, session_id::text, timestamp AS said_at,
       message_index AS position, 1 - distance AS nearness
FROM nearest JOIN conversation_messages AS message ON message_id = row_id
WHERE user_id = %(user_id)s AND message_id = ANY((SELECT array_agg(row_id) FROM nearest)::uuid[])
ORDER BY distance;

-- The message that casts the most doubt on another is the one that is noted.
-- name: doubt
UPDATE statements SET doubt = given.doubt, doubted_by = given.newer
FROM unnest(%(older)s::uuid[], %(doubts)s::real[], %(newer)s::uuid[]) AS given (message_id, doubt, newer)
WHERE user_id = %(user_id)s AND statements.message_id = ANY(%(older)s::uuid[])
  AND statements.message_id = given.message_id AND rejected_at IS NULL AND statements.doubt < given.doubt;

-- name: compared
UPDATE statements SET compared = true
WHERE user_id = %(user_id)s AND statement_id = ANY(%(ids)s::uuid[]);
