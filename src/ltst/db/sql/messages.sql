-- columns: message
session_id, role, content, message_type, message_index, parent_message_id, metadata, relevance_score,
is_context_message, timestamp, message_id, user_id, content_hash, context_hash, message_key, token_count, created_at

-- The vector that a message came with, else that of the index.
-- columns: vector
coalesce(ltst_of_the_model(embedding, created_at)::real[], (
    SELECT known.embedding::real[] FROM row_vectors AS known
    WHERE known.user_id = %(user_id)s AND row_id = message_id)) AS embedding

-- name: add
SELECT outcome, message_id, message_index, created_at
FROM ltst_add_message(
    %(user_id)s, %(session_id)s, %(message_id)s::uuid, %(role)s, %(content)s, %(content_hash)s, %(context_hash)s,
    %(token_count)s::integer, %(timestamp)s::timestamptz, %(metadata)s::jsonb, %(parent_message_id)s::uuid,
    %(message_key)s, %(agent)s, %(name)s, %(actor)s, %(retried)s);

-- name: open_session
SELECT ltst_open_session(
    %(user_id)s, %(session_id)s, %(agent)s, %(name)s, %(actor)s, %(began)s::timestamptz);

-- name: now
SELECT now();

-- name: store
INSERT INTO conversation_messages (
    user_id, session_id, message_id, role, content, content_hash, context_hash, message_index, message_type,
    token_count, metadata, parent_message_id, timestamp, embedding, relevance_score, is_context_message)
VALUES (%(user_id)s, %(session_id)s, %(message_id)s::uuid, %(role)s, %(content)s, %(content_hash)s, %(context_hash)s,
    %(message_index)s::integer, %(message_type)s, %(token_count)s::integer, %(metadata)s::jsonb,
    %(parent_message_id)s::uuid, %(timestamp)s::timestamptz, %(embedding)s::real[]::vector(384), %(relevance_score)s::float,
    %(is_context_message)s::boolean);

-- name: get
SELECT {message}
FROM conversation_messages
WHERE user_id = %(user_id)s AND message_id = %(message_id)s::uuid;

-- name: get_many
SELECT {message}, {vector}
FROM conversation_messages
WHERE user_id = %(user_id)s AND message_id = ANY(%(message_ids)s::uuid[]);

-- name: keyed
SELECT {message}
FROM conversation_messages
WHERE user_id = %(user_id)s AND session_id = %(session_id)s 
  AND ltst_sha256(message_key) = ANY(ARRAY(SELECT ltst_sha256(key) FROM unnest(%(keys)s::text[]) AS key));

-- A fork has the keys of what it is a copy of, which came before it.
-- name: keyed_anywhere
SELECT {message}
FROM conversation_messages
WHERE user_id = %(user_id)s AND message_key IS NOT NULL AND ltst_sha256(message_key) = ltst_sha256(%(key)s)
ORDER BY created_at LIMIT 1;

-- name: window
SELECT {message}
FROM ltst_window(%(user_id)s, %(session_id)s, %(limit)s::integer, %(max_tokens)s::integer);

-- name: list
SELECT {message}, {vector}
FROM (SELECT * FROM conversation_messages
      WHERE user_id = %(user_id)s AND session_id = %(session_id)s
      ORDER BY message_index
      LIMIT %(limit)s OFFSET %(offset)s) AS page
ORDER BY message_index;

-- What answers a message that goes answers what stood before it.
-- name: pass_on
UPDATE conversation_messages SET parent_message_id = %(parent)s::uuid
WHERE user_id = %(user_id)s AND parent_message_id = %(message_id)s::uuid;

-- name: remove
DELETE FROM conversation_messages WHERE user_id = %(user_id)s AND message_id = %(message_id)s::uuid;

-- Replies that quote something, and those that only retell and answer or rest on something, or tell a value of a key.
-- name: repeating
SELECT {message}
FROM conversation_messages
WHERE user_id = %(user_id)s AND role = 'ai' AND (
    EXISTS (SELECT FROM unnest(%(quotes)s::text[]) AS quote WHERE position(quote IN content) > 0)
    OR (metadata @> '{"retold": true}' AND (
        parent_message_id::text = ANY(%(ids)s::text[])
        OR EXISTS (
            SELECT FROM jsonb_path_query(metadata, '$.memories[*].id') AS rests
            WHERE rests #>> '{}' = ANY(%(ids)s::text[])
               OR (rests #>> '{}' = ANY(%(beside)s::text[])
                   AND EXISTS (SELECT FROM unnest(%(values)s::text[]) AS told
                               WHERE position(lower(told) IN lower(content)) > 0))))))
ORDER BY timestamp, message_id;

-- What LangChain would show in the place of the text is of the old words, and so is the score.
-- name: replace
UPDATE conversation_messages
SET content = %(content)s, content_hash = %(content_hash)s, context_hash = %(context_hash)s,
    token_count = %(token_count)s::integer, relevance_score = 0,
    metadata = coalesce(%(metadata)s::jsonb, CASE jsonb_typeof(metadata -> 'chat_message_history')
        WHEN 'object' THEN metadata #- '{chat_message_history,content}' ELSE metadata END)
WHERE user_id = %(user_id)s AND message_id = %(message_id)s::uuid
RETURNING {message};

-- name: last_index
SELECT coalesce(max(message_index), 0) FROM conversation_messages
WHERE user_id = %(user_id)s AND session_id = %(session_id)s;

-- name: fork
WITH copied AS MATERIALIZED (
    SELECT gen_random_uuid() AS new_id, row_number() OVER (ORDER BY message_index) AS new_index, * FROM conversation_messages
    WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND message_index <= %(at)s::integer
)
INSERT INTO conversation_messages (
    user_id, session_id, message_id, role, content, content_hash, context_hash, message_index, message_key,
    message_type, token_count, metadata, parent_message_id, timestamp, embedding, relevance_score, is_context_message)
SELECT copied.user_id, %(fork_id)s::text, copied.new_id, copied.role, copied.content, copied.content_hash,
       ltst_sha256(%(fork_id)s::text || ':' || copied.role || ':' || copied.content_hash),
       copied.new_index, copied.message_key, copied.message_type, copied.token_count, copied.metadata,
       coalesce(parent.new_id, copied.parent_message_id), copied.timestamp,
       -- The copy is not embedded again where the column can hold its vector.
       coalesce(ltst_of_the_model(copied.embedding, copied.created_at), (
           SELECT known.embedding::vector FROM row_vectors AS known
           WHERE known.user_id = %(user_id)s AND row_id = copied.message_id AND vector_dims(known.embedding) = 384
             AND NOT EXISTS (SELECT FROM search_due WHERE user_id = %(user_id)s AND row_id = copied.message_id))),
       copied.relevance_score, copied.is_context_message
FROM copied LEFT JOIN copied AS parent ON parent.message_id = copied.parent_message_id
ORDER BY copied.message_index;

-- name: after
SELECT {message}
FROM conversation_messages
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND message_index > %(after)s
ORDER BY message_index
LIMIT %(limit)s;

-- name: keys
SELECT session_id, message_key, role, content_hash FROM conversation_messages
WHERE user_id = %(user_id)s AND session_id = ANY(%(session_ids)s::text[]) AND message_key IS NOT NULL
ORDER BY session_id, message_index;

-- name: insert
INSERT INTO conversation_messages (
    user_id, session_id, message_id, role, content, content_hash, context_hash, message_index, message_key,
    token_count, metadata, parent_message_id, timestamp)
SELECT %(user_id)s::text, session_id, message_id, role, content, content_hash, context_hash, message_index,
       message_key, token_count, metadata, parent_message_id, "timestamp"
FROM json_to_recordset(%(rows)s::json) AS given (
    session_id TEXT, message_id UUID, role TEXT, content TEXT, content_hash TEXT, context_hash TEXT,
    message_index INTEGER, message_key TEXT, token_count INTEGER, metadata JSONB, parent_message_id UUID,
    "timestamp" TIMESTAMPTZ);
