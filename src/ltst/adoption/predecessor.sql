-- The system before ltst: the old rows as ltst takes them, the copies, what both sides say, the way back.
--
-- `r` is a row of an old table as JSON, {old} the schema of the old tables, {owner} who owns what names no user. The id
-- of a row in ltst is made of its old one, always the same, so that it is taken once.

-- part: object
CASE jsonb_typeof(r -> 'metadata') WHEN 'object' THEN r -> 'metadata' ELSE jsonb_build_object() END

-- part: role
CASE lower(r ->> 'role') WHEN 'human' THEN 'human' WHEN 'user' THEN 'human' WHEN 'ai' THEN 'ai'
WHEN 'assistant' THEN 'ai' WHEN 'system' THEN 'system' WHEN 'tool' THEN 'tool' END

-- stage: old_owners
SELECT r ->> 'session_id' AS session, coalesce(nullif(r ->> 'user_id', ''), {owner}) AS owner
FROM pg_temp.old_conversation_sessions

-- stage: old_turns
SELECT turn.*, CASE
    WHEN owner = 'system' THEN 'the user system is reserved'
    WHEN role IS NULL THEN 'the role is none of human, user, ai, assistant, system and tool'
    WHEN content IS NULL THEN 'there is no content'
    WHEN octet_length(content) > {largest} THEN 'the content is larger than what a message may hold'
    WHEN coalesce(session, '') = '' THEN 'there is no session_id' END AS fault
FROM (
    SELECT md5('predecessor:conversation_messages:' || id)::uuid AS uid, 'conversation_messages ' || id AS row,
           coalesce(owner, {owner}) AS owner, r ->> 'session_id' AS session,
           coalesce((r ->> 'message_index')::bigint, id::bigint) AS place, id::bigint AS number, {role} AS role,
           r ->> 'content' AS content, coalesce((r ->> 'timestamp')::timestamptz, now()) AS happened,
           CASE WHEN r ->> 'message_type' IN ('message', 'system', 'context', 'preference')
                THEN r ->> 'message_type' ELSE 'message' END AS type,
           {object} AS metadata, coalesce((r ->> 'relevance_score')::float, 0) AS relevance,
           coalesce((r ->> 'is_context_message')::boolean, false) AS is_context,
           md5('predecessor:conversation_messages:' || (r ->> 'parent_message_id'))::uuid AS parent
    FROM (SELECT r, coalesce(r ->> 'message_id', r ->> 'id') AS id FROM pg_temp.old_conversation_messages) AS seen
    LEFT JOIN pg_temp.old_owners ON session = r ->> 'session_id'
    UNION ALL
    SELECT md5('predecessor:conversation_memory:' || (r ->> 'id' || ':' || spoken.role))::uuid,
           'conversation_memory ' || (r ->> 'id'), coalesce(owner, {owner}),
           (r ->> 'session_id') || CASE WHEN EXISTS (
               SELECT FROM pg_temp.old_conversation_messages AS told
               WHERE told.r ->> 'session_id' = seen.r ->> 'session_id') THEN ' (conversation_memory)' ELSE '' END,
           (r ->> 'id')::bigint, spoken.half, spoken.role, spoken.content,
           coalesce((r ->> 'created_at')::timestamptz, now()), 'message',
           {object} || CASE WHEN jsonb_typeof(r -> 'context') = 'object' AND r -> 'context' <> jsonb_build_object()
                            THEN jsonb_build_object('context', r -> 'context') ELSE jsonb_build_object() END,
           0, false, NULL
    FROM pg_temp.old_conversation_memory AS seen
    LEFT JOIN pg_temp.old_owners ON session = r ->> 'session_id',
    LATERAL (VALUES ('human', 1, r ->> 'human_message'), ('ai', 2, r ->> 'ai_response'))
        AS spoken (role, half, content)
    WHERE spoken.content ~ '\S'
) AS turn

-- stage: old_contexts
SELECT md5('predecessor:conversation_context:' || (coalesce(r ->> 'context_id', r ->> 'id')))::uuid AS uid,
       owner, session, r ->> 'context_type' AS type, r ->> 'context_key' AS key, r ->> 'context_value' AS value,
       coalesce((r ->> 'relevance_score')::float, 0) AS relevance, {object} AS metadata,
       (r ->> 'expires_at')::timestamptz AS expires, coalesce((r ->> 'created_at')::timestamptz, now()) AS created,
       'conversation_context ' || coalesce(r ->> 'context_id', r ->> 'id') AS row,
       CASE WHEN owner IS NULL THEN 'its session is not there'
            WHEN r ->> 'context_type' NOT IN ('conversation', 'preference', 'project', 'user_info', 'working')
                THEN 'the context_type is none of conversation, preference,'
                ' project, user_info and working' END AS fault
FROM pg_temp.old_conversation_context LEFT JOIN pg_temp.old_owners ON session = r ->> 'session_id'

-- stage: old_preferences
SELECT r ->> 'user_id' AS owner, r ->> 'preference_key' AS key, r ->> 'preference_value' AS value,
       CASE WHEN r ->> 'preference_type' IN ('general', 'coding', 'communication', 'project')
            THEN r ->> 'preference_type' ELSE 'general' END AS type,
       least(1, greatest(0, coalesce((r ->> 'confidence_score')::float, 1))) AS confidence,
       coalesce(r ->> 'source', 'explicit') AS source, coalesce((r ->> 'usage_count')::integer, 0) AS uses,
       (r ->> 'last_used')::timestamptz AS used, {object} AS metadata,
       coalesce((r ->> 'created_at')::timestamptz, (r ->> 'updated_at')::timestamptz, now()) AS created,
       coalesce((r ->> 'updated_at')::timestamptz, now()) AS updated
FROM pg_temp.old_user_preferences WHERE r ->> 'user_id' <> '' AND r ->> 'preference_value' IS NOT NULL

-- stage: old_relationships
SELECT md5('predecessor:session_relationships:' || id)::uuid AS uid, source.owner, source.session AS source,
       target.session AS target,
       r ->> 'relationship_type' AS type,
       coalesce((r ->> 'similarity_score')::float, (r ->> 'relationship_score')::float, 0) AS similarity,
       coalesce((r ->> 'relationship_strength')::float, 1) AS strength, {object} AS metadata,
       coalesce((r ->> 'created_at')::timestamptz, now()) AS created, 'session_relationships ' || id AS row,
       CASE WHEN source.owner IS DISTINCT FROM target.owner THEN 'its sessions are not of one user'
            WHEN source.session = target.session THEN 'it links a session with itself'
            WHEN source.owner IS NULL THEN 'its sessions are not there' END AS fault
FROM (SELECT r, coalesce(r ->> 'relationship_id', r ->> 'id') AS id FROM pg_temp.old_session_relationships) AS seen
LEFT JOIN pg_temp.old_owners AS source ON source.session = r ->> 'source_session_id'
LEFT JOIN pg_temp.old_owners AS target ON target.session = r ->> 'target_session_id'

-- stage: old_chunks
SELECT md5('predecessor:document_chunks:' || (chunk.r ->> 'id'))::uuid AS uid,
       coalesce(document.r ->> 'id', chunk.r ->> 'document_id', '') AS document,
       row_number() OVER (PARTITION BY coalesce(document.r ->> 'id', chunk.r ->> 'document_id', '')
                          ORDER BY (chunk.r ->> 'chunk_index')::integer, (chunk.r ->> 'id')::bigint) - 1 AS place,
       coalesce(chunk.r ->> 'content', '') AS content,
       CASE jsonb_typeof(chunk.r -> 'metadata')
           WHEN 'object' THEN chunk.r -> 'metadata' ELSE jsonb_build_object() END
           AS metadata
FROM pg_temp.old_document_chunks AS chunk
LEFT JOIN pg_temp.old_documents AS document ON document.r ->> 'id' = chunk.r ->> 'document_id'

-- faults: all
SELECT row, fault FROM pg_temp.old_turns WHERE fault IS NOT NULL
UNION ALL SELECT row, fault FROM pg_temp.old_contexts WHERE fault IS NOT NULL
UNION ALL SELECT row, fault FROM pg_temp.old_relationships WHERE fault IS NOT NULL
ORDER BY 1

-- copy: conversation_sessions
INSERT INTO conversation_sessions (
    user_id, session_id, session_name, session_type, status, metadata, context_summary, relevance_score, created_at,
    last_activity)
SELECT owner, session, r ->> 'session_name', coalesce(r ->> 'session_type', 'conversation'),
       coalesce(r ->> 'status', 'active'), {object}, r ->> 'context_summary',
       coalesce((r ->> 'relevance_score')::float, 0), coalesce((r ->> 'created_at')::timestamptz, now()),
       coalesce((r ->> 'last_activity')::timestamptz, (r ->> 'created_at')::timestamptz, now())
FROM pg_temp.old_conversation_sessions JOIN pg_temp.old_owners ON session = r ->> 'session_id'
WHERE owner <> 'system' AND session <> ''
ON CONFLICT (user_id, session_id) DO UPDATE SET session_name = excluded.session_name, status = excluded.status,
    metadata = excluded.metadata, context_summary = excluded.context_summary,
    last_activity = greatest(excluded.last_activity, conversation_sessions.last_activity)

-- copy: conversation_sessions
INSERT INTO conversation_sessions (user_id, session_id, created_at, last_activity)
SELECT owner, session, min(happened), max(happened) FROM pg_temp.old_turns WHERE fault IS NULL GROUP BY 1, 2
ON CONFLICT DO NOTHING

-- copy: conversation_sessions
ANALYZE conversation_sessions

-- copy: conversation_messages
INSERT INTO conversation_messages (
    user_id, message_id, session_id, message_type, role, content, content_hash, context_hash, message_index,
    message_key, token_count, metadata, relevance_score, is_context_message, parent_message_id, timestamp)
SELECT owner, uid, session, type, role, content, ltst_sha256(content),
       ltst_sha256(session || ':' || role || ':' || ltst_sha256(content)),
       last_index + row_number() OVER (PARTITION BY owner, session ORDER BY place, number), 'predecessor:' || uid,
       (octet_length(content) + 3) / 4, turn.metadata, relevance, is_context,
       (SELECT uid FROM pg_temp.old_turns AS other
        WHERE other.uid = turn.parent AND other.owner = turn.owner AND other.fault IS NULL), happened
FROM pg_temp.old_turns AS turn JOIN conversation_sessions AS session ON (user_id, session_id) = (owner, session)
WHERE fault IS NULL
  AND NOT EXISTS (SELECT FROM conversation_messages AS known WHERE known.user_id = owner AND message_id = uid)
ORDER BY owner, session, place, number

-- copy: conversation_context
INSERT INTO conversation_context (
    user_id, context_id, session_id, context_type, context_key, context_value, relevance_score, context_hash,
    metadata, expires_at, created_at)
SELECT owner, uid, session, type, key, value, relevance,
       ltst_sha256(concat_ws(':', session, type, key, value)), metadata, expires, created
FROM pg_temp.old_contexts WHERE fault IS NULL
ON CONFLICT (user_id, session_id, context_type, ltst_sha256(context_key)) DO UPDATE
SET context_value = excluded.context_value, relevance_score = excluded.relevance_score,
    context_hash = excluded.context_hash, metadata = excluded.metadata, expires_at = excluded.expires_at

-- copy: user_preferences
INSERT INTO user_preferences (
    user_id, preference_key, preference_value, preference_type, confidence_score, source, usage_count, last_used,
    metadata, created_at, updated_at)
SELECT owner, key, value, type, confidence, source, uses, used, metadata, created, updated
FROM pg_temp.old_preferences
ON CONFLICT (user_id, preference_key) DO UPDATE
SET preference_value = excluded.preference_value, preference_type = excluded.preference_type,
    confidence_score = excluded.confidence_score, source = excluded.source, metadata = excluded.metadata,
    updated_at = excluded.updated_at

-- copy: session_relationships
INSERT INTO session_relationships (
    user_id, relationship_id, source_session_id, target_session_id, relationship_type, similarity_score,
    relationship_strength, metadata, created_at)
SELECT owner, uid, source, target, type, similarity, strength, metadata, created
FROM pg_temp.old_relationships WHERE fault IS NULL ON CONFLICT DO NOTHING

-- copy: memory_retrieval_cache
INSERT INTO memory_retrieval_cache (
    user_id, cache_id, cache_key, session_id, query_hash, retrieved_context, relevance_scores, retrieval_time_ms,
    cache_hit_count, expires_at, created_at)
SELECT coalesce(owner, {owner}),
       md5('predecessor:memory_retrieval_cache:' || coalesce(r ->> 'cache_id', r ->> 'id'))::uuid,
       r ->> 'cache_key', r ->> 'session_id', coalesce(r ->> 'query_hash', ''),
       coalesce(r -> 'retrieved_context', '[]'), coalesce(r -> 'relevance_scores', jsonb_build_object()),
       (r ->> 'retrieval_time_ms')::float, coalesce((r ->> 'cache_hit_count')::integer, 0),
       coalesce((r ->> 'expires_at')::timestamptz, now()), coalesce((r ->> 'created_at')::timestamptz, now())
FROM pg_temp.old_memory_retrieval_cache LEFT JOIN pg_temp.old_owners ON session = r ->> 'session_id'
ON CONFLICT DO NOTHING

-- copy: memory_performance_metrics
INSERT INTO memory_performance_metrics (
    user_id, metric_id, operation_type, operation_name, session_id, operation_hash, execution_time_ms, result_count,
    cache_hit, error_message, created_at)
SELECT ltst_sha256(coalesce(r ->> 'session_id', '')), id, r ->> 'operation_type', r ->> 'operation_type',
       ltst_sha256(r ->> 'session_id'), coalesce(r ->> 'operation_hash', ''),
       coalesce((r ->> 'execution_time_ms')::float, 0), coalesce((r ->> 'result_count')::integer, 0),
       (r ->> 'cache_hit')::boolean, r ->> 'error_message', coalesce((r ->> 'created_at')::timestamptz, now())
FROM (SELECT r, md5('predecessor:memory_performance_metrics:' || (coalesce(r ->> 'metric_id', r ->> 'id')))::uuid AS id
      FROM pg_temp.old_memory_performance_metrics) AS seen
ON CONFLICT DO NOTHING

-- copy: documents
INSERT INTO documents (user_id, document_id, title, uri, content_hash, metadata, created_at)
SELECT {owner}, md5('predecessor:documents:' || id)::uuid, left(title, 500), uri,
       ltst_sha256('predecessor:' || id), metadata, created
FROM (
    SELECT r ->> 'id' AS id, coalesce(r ->> 'filename', r ->> 'title') AS title,
           coalesce(r ->> 'file_path', r ->> 'uri') AS uri, r - 'id' AS metadata,
           coalesce((r ->> 'created_at')::timestamptz, now()) AS created
    FROM pg_temp.old_documents
    UNION ALL
    SELECT DISTINCT document, document, NULL, jsonb_build_object(), now() FROM pg_temp.old_chunks AS chunk
    WHERE NOT EXISTS (SELECT FROM pg_temp.old_documents WHERE r ->> 'id' = chunk.document)
) AS seen
ON CONFLICT DO NOTHING

-- copy: document_chunks
INSERT INTO document_chunks (user_id, chunk_id, document_id, chunk_index, content, metadata)
SELECT {owner}, uid, md5('predecessor:documents:' || document)::uuid, place, content, metadata FROM pg_temp.old_chunks
ON CONFLICT DO NOTHING

-- copy: event_ledger
INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
SELECT DISTINCT owner, {actor}, 'adopt', 'session', session, jsonb_build_object('from', 'predecessor')
FROM pg_temp.old_turns WHERE fault IS NULL

-- After a copy every old row is there, with the same words, moment and owner, in the same order.
-- copied: messages
SELECT owner, session, role, content, extract(epoch FROM happened) AS moment,
       row_number() OVER (ORDER BY owner, session, place, number) AS number
FROM pg_temp.old_turns WHERE fault IS NULL

-- copied: messages
SELECT user_id AS owner, session_id AS session, role, content, extract(epoch FROM timestamp) AS moment,
       row_number() OVER (ORDER BY user_id, session_id, message_index) AS number
FROM conversation_messages WHERE (user_id, message_id) IN (SELECT owner, uid FROM pg_temp.old_turns)

-- copied: contexts
SELECT owner, session, type, key, value, row_number() OVER (ORDER BY owner, session, type, key, value) AS number
FROM pg_temp.old_contexts WHERE fault IS NULL

-- copied: contexts
SELECT user_id AS owner, session_id AS session, context_type AS type, context_key AS key, context_value AS value,
       row_number() OVER (ORDER BY user_id, session_id, context_type, context_key, context_value) AS number
FROM conversation_context
WHERE (user_id, session_id, context_type, context_key) IN (SELECT owner, session, type, key FROM pg_temp.old_contexts)

-- copied: preferences
SELECT owner, key, value, row_number() OVER (ORDER BY owner, key, value) AS number FROM pg_temp.old_preferences

-- copied: preferences
SELECT user_id AS owner, preference_key AS key, preference_value AS value,
       row_number() OVER (ORDER BY user_id, preference_key, preference_value) AS number
FROM user_preferences WHERE (user_id, preference_key) IN (SELECT owner, key FROM pg_temp.old_preferences)

-- copied: relationships
SELECT owner, source, target, type, row_number() OVER (ORDER BY owner, source, target, type) AS number
FROM pg_temp.old_relationships WHERE fault IS NULL

-- copied: relationships
SELECT user_id AS owner, source_session_id AS source, target_session_id AS target, relationship_type AS type,
       row_number() OVER (ORDER BY user_id, source_session_id, target_session_id, relationship_type) AS number
FROM session_relationships
WHERE (user_id, relationship_id) IN (SELECT owner, uid FROM pg_temp.old_relationships)

-- copied: chunks of documents
SELECT document, place, content, row_number() OVER (ORDER BY uid) AS number FROM pg_temp.old_chunks

-- copied: chunks of documents
SELECT document, place, chunk.content, row_number() OVER (ORDER BY uid) AS number
FROM pg_temp.old_chunks JOIN document_chunks AS chunk ON chunk_id = uid AND chunk_index = place

-- After the way back the old tables say what ltst says, whoever wrote it.
-- returned: messages
SELECT owner, role, content, row_number() OVER (ORDER BY owner, role, content) AS number
FROM pg_temp.old_turns WHERE fault IS NULL

-- returned: messages
SELECT user_id AS owner, role, content, row_number() OVER (ORDER BY user_id, role, content) AS number
FROM conversation_messages

-- returned: contexts
SELECT owner, type, key, value, row_number() OVER (ORDER BY owner, type, key, value) AS number
FROM pg_temp.old_contexts WHERE fault IS NULL

-- returned: contexts
SELECT user_id AS owner, context_type AS type, context_key AS key, context_value AS value,
       row_number() OVER (ORDER BY user_id, context_type, context_key, context_value) AS number
FROM conversation_context

-- returned: preferences
SELECT owner, key, value, row_number() OVER (ORDER BY owner, key, value) AS number
FROM pg_temp.old_preferences WHERE owner <> 'system'

-- returned: preferences
SELECT user_id AS owner, preference_key AS key, preference_value AS value,
       row_number() OVER (ORDER BY user_id, preference_key, preference_value) AS number
FROM user_preferences WHERE user_id <> 'system' AND NOT sensitive

-- Under which id each conversation stands in the old tables, where an id is unique for all users.
-- names: all
CREATE TEMP TABLE old_names ON COMMIT DROP AS
SELECT user_id, session_id, CASE
    WHEN owner = user_id OR owner IS NULL AND count(*) OVER (PARTITION BY plain) = 1 THEN plain
    ELSE left(user_id || ':' || plain, 255) END AS named
FROM (SELECT *, replace(session_id, ' (conversation_memory)', '') AS plain FROM conversation_sessions) AS own
LEFT JOIN pg_temp.old_owners ON session = plain

-- What left ltst since leaves the old tables too, and what changed there changes here.
-- change: conversation_sessions
DELETE FROM {old}.conversation_sessions AS each USING pg_temp.old_owners WHERE session = each.session_id
AND owner <> 'system' AND NOT EXISTS (
    SELECT FROM conversation_sessions WHERE (user_id, session_id) = (owner, session))

-- change: conversation_messages
DELETE FROM {old}.conversation_messages AS each USING pg_temp.old_turns AS turn
WHERE turn.uid = md5('predecessor:conversation_messages:'
        || coalesce(to_jsonb(each) ->> 'message_id', to_jsonb(each) ->> 'id'))::uuid AND fault IS NULL
  AND NOT EXISTS (SELECT FROM conversation_messages WHERE (user_id, message_id) = (owner, uid))

-- change: conversation_memory
UPDATE {old}.conversation_memory AS each SET human_message = '' FROM pg_temp.old_turns AS turn
WHERE turn.uid = md5('predecessor:conversation_memory:' || (each.id || ':human'))::uuid AND fault IS NULL
  AND NOT EXISTS (SELECT FROM conversation_messages WHERE (user_id, message_id) = (owner, uid))

-- change: conversation_memory
UPDATE {old}.conversation_memory AS each SET ai_response = '' FROM pg_temp.old_turns AS turn
WHERE turn.uid = md5('predecessor:conversation_memory:' || (each.id || ':ai'))::uuid AND fault IS NULL
  AND NOT EXISTS (SELECT FROM conversation_messages WHERE (user_id, message_id) = (owner, uid))

-- change: conversation_memory
DELETE FROM {old}.conversation_memory
WHERE coalesce(human_message, '') = '' AND coalesce(ai_response, '') = ''

-- change: conversation_context
DELETE FROM {old}.conversation_context AS each USING pg_temp.old_contexts AS known
WHERE (known.session, type, key) = (each.session_id, each.context_type, each.context_key) AND fault IS NULL
  AND NOT EXISTS (SELECT FROM conversation_context AS own WHERE own.user_id = owner
      AND (own.session_id, own.context_type, own.context_key) = (known.session, type, key))

-- change: conversation_context
UPDATE {old}.conversation_context AS each SET context_value = own.context_value, metadata = own.metadata,
    relevance_score = own.relevance_score, expires_at = own.expires_at
FROM conversation_context AS own JOIN pg_temp.old_contexts AS known ON own.user_id = owner
    AND (own.session_id, own.context_type, own.context_key) = (known.session, type, key)
WHERE (each.session_id, each.context_type, each.context_key) = (known.session, type, key)
  AND each.context_value IS DISTINCT FROM own.context_value

-- change: user_preferences
DELETE FROM {old}.user_preferences AS each WHERE user_id <> 'system' AND NOT EXISTS (
SELECT FROM user_preferences AS own WHERE NOT sensitive
AND (own.user_id, own.preference_key) = (each.user_id, each.preference_key))

-- change: user_preferences
UPDATE {old}.user_preferences AS each SET preference_value = own.preference_value, metadata = own.metadata,
    updated_at = own.updated_at
FROM user_preferences AS own WHERE NOT sensitive AND each.preference_value <> own.preference_value
  AND (own.user_id, own.preference_key) = (each.user_id, each.preference_key)

-- change: session_relationships
DELETE FROM {old}.session_relationships AS each USING pg_temp.old_relationships AS known
WHERE known.uid = md5('predecessor:session_relationships:'
        || coalesce(to_jsonb(each) ->> 'relationship_id', to_jsonb(each) ->> 'id'))::uuid AND fault IS NULL
  AND NOT EXISTS (SELECT FROM session_relationships WHERE (user_id, relationship_id) = (owner, uid))

-- What came to ltst since comes to the old tables too, as far as they have the columns.
-- back: conversation_sessions
SELECT named AS session_id, own.user_id, own.session_name, own.session_type, own.status, own.metadata,
       own.context_summary, own.relevance_score, own.created_at, own.last_activity
FROM conversation_sessions AS own JOIN pg_temp.old_names USING (user_id, session_id)
WHERE NOT EXISTS (SELECT FROM {old}.conversation_sessions AS each WHERE each.session_id = named)
ORDER BY own.created_at
ON CONFLICT DO NOTHING

-- back: conversation_messages
SELECT named AS session_id, own.message_type, own.role, own.content, own.content_hash, own.context_hash,
       coalesce(last, 0) + row_number() OVER (PARTITION BY named ORDER BY own.message_index) AS message_index,
       own.metadata, own.relevance_score, own.is_context_message, own.timestamp
FROM conversation_messages AS own JOIN pg_temp.old_names USING (user_id, session_id)
LEFT JOIN (SELECT session_id AS named, max((to_jsonb(each) ->> 'message_index')::integer) AS last  -- it may be missing
           FROM {old}.conversation_messages AS each GROUP BY 1) AS there USING (named)
WHERE NOT EXISTS (SELECT FROM pg_temp.old_turns WHERE uid = own.message_id)
ORDER BY own.timestamp, named, own.message_index

-- back: conversation_memory instead of conversation_messages
SELECT named AS session_id, CASE WHEN own.role = 'human' THEN own.content ELSE '' END AS human_message,
       CASE WHEN own.role = 'human' THEN '' ELSE own.content END AS ai_response, own.timestamp AS created_at
FROM conversation_messages AS own JOIN pg_temp.old_names USING (user_id, session_id)
WHERE NOT EXISTS (SELECT FROM pg_temp.old_turns WHERE uid = own.message_id)
ORDER BY own.timestamp, named, own.message_index

-- back: conversation_context
SELECT named AS session_id, own.context_type, own.context_key, own.context_value, own.relevance_score,
       own.context_hash, own.metadata, own.expires_at, own.created_at
FROM conversation_context AS own JOIN pg_temp.old_names USING (user_id, session_id)
WHERE NOT EXISTS (SELECT FROM {old}.conversation_context AS each WHERE (each.session_id, each.context_type,
    each.context_key) = (named, own.context_type, own.context_key))

-- back: user_preferences
SELECT own.user_id, own.preference_key, own.preference_value, own.preference_type, own.confidence_score, own.source,
       own.metadata, own.created_at, own.updated_at
FROM user_preferences AS own WHERE NOT sensitive AND user_id <> 'system' AND NOT EXISTS (
    SELECT FROM {old}.user_preferences AS each
    WHERE (each.user_id, each.preference_key) = (own.user_id, own.preference_key))

-- back: session_relationships
SELECT source.named AS source_session_id, target.named AS target_session_id, own.relationship_type,
       own.similarity_score, own.similarity_score AS relationship_score, own.relationship_strength, own.metadata,
       own.created_at
FROM session_relationships AS own
JOIN pg_temp.old_names AS source ON (source.user_id, source.session_id) = (own.user_id, source_session_id)
JOIN pg_temp.old_names AS target ON (target.user_id, target.session_id) = (own.user_id, target_session_id)
WHERE NOT EXISTS (SELECT FROM pg_temp.old_relationships WHERE uid = relationship_id)
