-- Everything that one user owns, out and back in: `export_…` gives the rows as JSON, `restore_…` takes them.
-- Vectors stay behind: they are derived, and another database may use another model.

-- name: export_sessions
SELECT to_jsonb(kept) - '{user_id,adoption_id,updated_at,unlearnt,unrefined,untold,last_day}'::text[]
FROM conversation_sessions AS kept
WHERE user_id = %(user_id)s
ORDER BY last_activity, session_id;

-- name: export_messages
SELECT to_jsonb(kept) - '{user_id,embedding,ann}'::text[] FROM conversation_messages AS kept
WHERE user_id = %(user_id)s
ORDER BY session_id, message_index;

-- name: export_contexts
SELECT to_jsonb(kept) - '{user_id,updated_at}'::text[] FROM conversation_context AS kept
WHERE user_id = %(user_id)s
ORDER BY session_id, context_type, context_key;

-- name: export_relationships
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM session_relationships AS kept
WHERE user_id = %(user_id)s
ORDER BY created_at, relationship_id;

-- name: export_claims
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM claims AS kept
WHERE user_id = %(user_id)s
ORDER BY noun, claim_key, said_at, claim_id;

-- name: export_statements
SELECT to_jsonb(kept) - '{user_id,compared}'::text[] FROM statements AS kept
WHERE user_id = %(user_id)s
ORDER BY said_at, message_id, start_at;

-- name: export_learning
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM user_learning AS kept
WHERE user_id = %(user_id)s;

-- name: export_facts
SELECT to_jsonb(kept) - '{user_id,embedding}'::text[] FROM user_facts AS kept
WHERE user_id = %(user_id)s
ORDER BY about, fact_key, valid_from, recorded_at, fact_id;

-- name: export_preferences
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM user_preferences AS kept
WHERE user_id = %(user_id)s
ORDER BY preference_key;

-- name: export_instructions
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM user_agent_prompt_customizations AS kept
WHERE user_id = %(user_id)s
ORDER BY agent_name, version;

-- name: export_entries
SELECT to_jsonb(kept) - '{user_id,embedding,consolidated}'::text[] FROM memory_entries AS kept
WHERE user_id = %(user_id)s
ORDER BY occurred_at, entry_id;

-- name: export_documents
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM documents AS kept
WHERE user_id = %(user_id)s
ORDER BY created_at, document_id;

-- name: export_chunks
SELECT to_jsonb(kept) - '{user_id,embedding}'::text[] FROM document_chunks AS kept
WHERE user_id = %(user_id)s
ORDER BY document_id, chunk_index;

-- name: export_items
SELECT to_jsonb(kept) - '{user_id,path}'::text[] FROM items AS kept
WHERE user_id = %(user_id)s
ORDER BY namespace, key;

-- name: export_retention
SELECT to_jsonb(kept) - '{user_id}'::text[] FROM retention_policies AS kept
WHERE user_id = %(user_id)s
ORDER BY session_type;

-- name: restore_sessions
INSERT INTO conversation_sessions (
    user_id, session_id, session_name, session_type, status, agent_name, metadata, context_summary, relevance_score,
    session_length, last_index, learned_index, refined_index, episode_index, summarised_index, created_at, last_activity,
    updated_at)
SELECT user_id, session_id, session_name, session_type, status, agent_name, metadata, context_summary, relevance_score,
       session_length, last_index, learned_index, refined_index, episode_index, summarised_index, created_at,
       last_activity, updated_at
FROM jsonb_populate_recordset(NULL::conversation_sessions, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING
RETURNING session_id;

-- name: restore_messages
INSERT INTO conversation_messages
SELECT given.* FROM jsonb_populate_recordset(NULL::conversation_messages, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_contexts
INSERT INTO conversation_context
SELECT given.* FROM jsonb_populate_recordset(NULL::conversation_context, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_relationships
INSERT INTO session_relationships
SELECT given.* FROM jsonb_populate_recordset(NULL::session_relationships, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_claims
INSERT INTO claims
SELECT given.* FROM jsonb_populate_recordset(NULL::claims, %(rows)s::jsonb) AS given
JOIN conversation_messages AS message  -- its message may not have come along
  ON message.user_id = given.user_id AND message.message_id = given.message_id
ON CONFLICT DO NOTHING;

-- name: restore_statements
INSERT INTO statements
SELECT given.* FROM jsonb_populate_recordset(NULL::statements, %(rows)s::jsonb) AS given
JOIN conversation_messages AS message  -- its message may not have come along
  ON message.user_id = given.user_id AND message.message_id = given.message_id
ON CONFLICT DO NOTHING;

-- name: restore_learning
INSERT INTO user_learning (user_id, switches)
SELECT given.user_id, coalesce(given.switches, '{}')
FROM jsonb_populate_recordset(NULL::user_learning, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_facts
INSERT INTO user_facts
SELECT (jsonb_populate_record(NULL::user_facts, row || jsonb_build_object('source_message_id', message.message_id))).*
FROM jsonb_array_elements(%(rows)s::jsonb) AS row
LEFT JOIN conversation_messages AS message  -- the source may not have come along
  ON message.user_id = row ->> 'user_id' AND message.message_id = (row ->> 'source_message_id')::uuid
ON CONFLICT DO NOTHING;

-- name: restore_preferences
INSERT INTO user_preferences
SELECT given.* FROM jsonb_populate_recordset(NULL::user_preferences, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_instructions
INSERT INTO user_agent_prompt_customizations
SELECT given.* FROM jsonb_populate_recordset(NULL::user_agent_prompt_customizations, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_entries
INSERT INTO memory_entries
SELECT given.* FROM jsonb_populate_recordset(NULL::memory_entries, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_documents
INSERT INTO documents
SELECT (jsonb_populate_record(NULL::documents, '{"media_type": "text/plain"}' || row)).*  -- which was not told at first
FROM jsonb_array_elements(%(rows)s::jsonb) AS row
ON CONFLICT DO NOTHING;

-- name: known_documents
SELECT document_id FROM documents WHERE user_id = %(user_id)s AND document_id = ANY(%(ids)s::uuid[]);

-- name: restore_chunks
INSERT INTO document_chunks
SELECT given.* FROM jsonb_populate_recordset(NULL::document_chunks, %(rows)s::jsonb) AS given
JOIN documents USING (user_id, document_id)  -- a document with the same text may be there, with chunks of its own
ON CONFLICT DO NOTHING;

-- name: restore_items
INSERT INTO items (user_id, item_id, namespace, key, value, content, vectors, revision, created_at, updated_at, ttl,
                   expires_at)
SELECT given.user_id, ltst_item_id(namespace, key), namespace, key, coalesce(value, 'null'), content, vectors,
       coalesce(revision, 1), created_at, updated_at, ttl, expires_at
FROM jsonb_populate_recordset(NULL::items, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: restore_retention
INSERT INTO retention_policies
SELECT given.* FROM jsonb_populate_recordset(NULL::retention_policies, %(rows)s::jsonb) AS given
ON CONFLICT DO NOTHING;

-- name: foreign_sessions
SELECT DISTINCT message.session_id
FROM jsonb_to_recordset(%(rows)s::jsonb) AS given (session_id TEXT, message_index INTEGER, message_id UUID)
JOIN conversation_messages AS message
  ON message.user_id = %(user_id)s AND message.session_id = given.session_id
 AND message.message_index = given.message_index AND message.message_id <> given.message_id;

-- name: restore_parents
UPDATE conversation_messages AS message SET parent_message_id = given.parent_message_id
FROM jsonb_populate_recordset(NULL::conversation_messages, %(rows)s::jsonb) AS given
WHERE message.user_id = given.user_id AND message.message_id = given.message_id
  AND message.parent_message_id IS NULL
  AND EXISTS (SELECT FROM conversation_messages AS parent
              WHERE parent.user_id = given.user_id AND parent.message_id = given.parent_message_id);

-- name: restore_counters
UPDATE conversation_sessions AS session
SET last_index = greatest(session.last_index, given.last_index), learned_index = given.learned_index,
    refined_index = given.refined_index, episode_index = given.episode_index,
    summarised_index = given.summarised_index,
    status = given.status, last_activity = given.last_activity
FROM jsonb_populate_recordset(NULL::conversation_sessions, %(rows)s::jsonb) AS given
WHERE session.user_id = given.user_id AND session.session_id = given.session_id;

-- name: erase
SELECT table_name, removed, remaining FROM ltst_erase_user(%(user_id)s, %(tables)s::text[]);

-- name: erase_kept
SELECT table_name, removed, remaining FROM ltst_erase_kept(%(user_id)s);

-- name: held
SELECT table_name, held FROM ltst_count_user(%(user_id)s, %(tables)s::text[])
UNION ALL
SELECT table_name, held FROM ltst_count_kept(%(user_id)s);
