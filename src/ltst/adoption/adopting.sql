-- The statements of adopting.py, whose names of tables and columns are known only when they are seen.

-- name: count
SELECT count(*) AS rows, count(*) FILTER (WHERE fault IS NULL) AS messages,
       count(DISTINCT (owner, session)) FILTER (WHERE fault IS NULL) AS sessions,
       count(DISTINCT owner) FILTER (WHERE fault IS NULL) AS users,
       min(happened) FILTER (WHERE fault IS NULL) AS first, max(happened) FILTER (WHERE fault IS NULL) AS last,
       count(*) FILTER (WHERE fault IS NULL AND happened IS NULL) AS undated,
       count(*) FILTER (WHERE fault IS NULL AND content !~ '\S') AS blank
FROM {source} AS seen

-- name: faulty
SELECT row, fault AS reason FROM {source} AS seen WHERE fault IS NOT NULL ORDER BY place LIMIT {limit}

-- name: reasons
SELECT fault, count(*) FROM {source} AS seen WHERE fault IS NOT NULL GROUP BY fault ORDER BY 2 DESC, 1 LIMIT 100

-- name: vocabulary
SELECT role, mode() WITHIN GROUP (ORDER BY word) FROM {source} AS seen
WHERE fault IS NULL AND word IS NOT NULL GROUP BY role

-- name: sessions
INSERT INTO conversation_sessions (user_id, session_id, created_at, last_activity, metadata)
SELECT owner, session, coalesce(min(happened), now()), coalesce(max(happened), now()),
       jsonb_build_object('adopted_from', {name}::text)
FROM {stage} WHERE fault IS NULL GROUP BY owner, session

-- A row without a date is as old as the youngest of its conversation, since it stands behind those that have one.
-- name: messages
INSERT INTO conversation_messages (
    user_id, message_id, session_id, role, content, content_hash, context_hash, message_index, message_key,
    token_count, metadata, timestamp)
SELECT owner, message_id, session, role, content, hash, ltst_sha256(session || ':' || role || ':' || hash), number,
       CASE WHEN length(named) <= 255 THEN named ELSE ltst_sha256(named) END, (octet_length(content) + 3) / 4,
       ltst_adopted_metadata(columns) || body,
       coalesce(happened, max(happened) OVER (PARTITION BY owner, session), now())
FROM (SELECT *, ltst_sha256(content) AS hash, {name} || ':' || row AS named FROM {stage} WHERE fault IS NULL) AS seen
ORDER BY owner, session, number

-- name: numbers
INSERT INTO adopted_messages (user_id, message_id, adoption_id, {session_column}, {row_column}, shown)
SELECT owner, message_id, {adoption}, session::{session_kind}, id::{row_kind},
       CASE columns WHEN '{{}}' THEN '{{}}'::jsonb ELSE jsonb_build_object('columns', columns) END
       || CASE WHEN happened IS NULL THEN '{{"undated": true}}'::jsonb ELSE '{{}}'::jsonb END
       || CASE WHEN word <> {words}::jsonb ->> role THEN jsonb_build_object('role', word) ELSE '{{}}'::jsonb END
       || CASE WHEN message <> ltst_langchain_message(role, content, ltst_adopted_metadata(columns) || body)
               THEN jsonb_build_object('message', message) ELSE '{{}}'::jsonb END
FROM {stage} WHERE fault IS NULL ORDER BY owner, session, number

-- name: analyse_sessions
ANALYZE conversation_sessions

-- name: analyse_all
ANALYZE conversation_sessions, conversation_messages, adopted_messages

-- name: share
UPDATE conversation_sessions SET adoption_id = {adoption}
WHERE (user_id, session_id) IN (SELECT DISTINCT owner, session FROM {stage} WHERE fault IS NULL)

-- name: tell
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
SELECT user_id, {actor}, {action}, 'session', session_id,
       jsonb_build_object('table', {name}::text, 'messages', session_length)
FROM conversation_sessions WHERE adoption_id = {adoption} ORDER BY user_id, session_id

-- name: remember
INSERT INTO adopted_tables (
    adoption_id, schema_name, table_name, kept_name, shape, owner_id, columns, extras, words, row_kind, session_kind,
    numbered, sequence_name, zone, largest)
VALUES (%(adoption_id)s::uuid, %(schema)s, %(table)s, %(kept)s, %(shape)s, %(user_id)s, %(columns)s::jsonb,
        %(extras)s::jsonb, %(words)s::jsonb, %(row_kind)s, %(session_kind)s, %(numbered)s, %(sequence)s, %(zone)s,
        %(largest)s)

-- Hashes of the adopted rows as the table has them and as ltst has them; they must be equal, order and times included.
-- name: old_order
SELECT count(*), coalesce(encode(sha256(string_agg(
    sha256(convert_to(jsonb_build_array(owner, session, number, role, content, happened)::text, 'UTF8')), ''
    ORDER BY owner, session, number)), 'hex'), '')
FROM ({read}) AS seen WHERE fault IS NULL

-- name: new_order
SELECT count(*), coalesce(encode(sha256(string_agg(
    sha256(convert_to(jsonb_build_array(message.user_id, session_id, message_index, role, content,
        CASE WHEN shown ? 'undated' THEN NULL ELSE timestamp END)::text, 'UTF8')), ''
    ORDER BY message.user_id, session_id, message_index)), 'hex'), '')
FROM conversation_messages AS message JOIN adopted_messages USING (user_id, message_id) WHERE adoption_id = {adoption}
