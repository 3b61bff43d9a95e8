-- Facts about anyone: the user, who is 'me', or somebody else by name or relation, as said.
ALTER TABLE user_facts ADD COLUMN about VARCHAR(255) NOT NULL DEFAULT 'me' CHECK (about <> '');

-- One open value of a single-valued key and person, however the name is spelt in capitals.
DROP INDEX idx_user_facts_open;
CREATE UNIQUE INDEX idx_user_facts_open ON user_facts (user_id, fact_key, lower(about))
    WHERE valid_to IS NULL AND rejected_at IS NULL AND single_valued;

-- A fact about somebody else is found by the name too; what is known about the user reads as before.
CREATE OR REPLACE VIEW search_sources WITH (security_invoker = true) AS
SELECT message.user_id, 'message' AS kind, message_id AS row_id, message_id AS id, session_id,
       'message ' || session_id AS place,
       message_index AS position, timestamp AS occurred_at, NULL::timestamptz AS valid_from, NULL::timestamptz AS valid_until,
       NULL::timestamptz AS expires_at, content, content_hash::text AS content_hash, role::text AS role,
       coalesce(metadata ->> 'speaker', metadata ->> 'name') AS said_by, role <> 'human' AS by_machine,
       metadata @> '{"retold": true}' AS retold, NULL::float AS importance, NULL::timestamptz AS used_at,
       NULL::text AS subtype,
       (SELECT session_name FROM conversation_sessions AS session
        WHERE session.user_id = message.user_id AND session.session_id = message.session_id)::text AS title,
       NULL::text AS heading, metadata, ARRAY[message_id] AS sources,
       role <> 'tool' AND coalesce(metadata ->> 'trust', '') <> 'low'
       AND coalesce(metadata ->> 'source', '') NOT IN ('tool', 'web', 'document', 'email', 'file', 'paste') AS trusted,
       NULL::jsonb AS details, NOT metadata @> '{"retold": true}' AS vectored
FROM conversation_messages AS message
UNION ALL
SELECT user_id, 'fact', fact_id, fact_id, NULL, 'fact ' || fact_id, 0, valid_from, valid_from, valid_to, NULL,
       CASE about WHEN 'me' THEN '' ELSE about || ': ' END || fact_key || ': ' || fact_value, NULL, NULL, NULL, false,
       learned, NULL, NULL, NULL, NULL, NULL, metadata,
       ARRAY(SELECT source_message_id WHERE source_message_id IS NOT NULL
             UNION SELECT message_id FROM claims WHERE claims.user_id = fact.user_id AND row_id = fact.fact_id),
       true, CASE WHEN about <> 'me' THEN jsonb_build_object('about', about) END, true
FROM user_facts AS fact WHERE rejected_at IS NULL
UNION ALL
SELECT user_id, 'entry', entry_id, entry_id, session_id, 'entry ' || entry_id, 0, occurred_at, NULL, NULL, expires_at,
       content, NULL, NULL, NULL, false, learned,
       CASE WHEN importance_score < 1e-30 THEN 0 ELSE importance_score END,  -- as a REAL holds it
       greatest(last_used, occurred_at), memory_type, NULL, NULL, metadata,
       ARRAY(SELECT told::uuid FROM jsonb_array_elements_text(
                 CASE WHEN learned AND jsonb_typeof(metadata -> 'sources') = 'array'
                      THEN metadata -> 'sources' ELSE '[]' END) AS told
             WHERE told ~ '^[0-9a-f-]{36}$'),
       coalesce(metadata ->> 'trust', '') <> 'low', NULL, true
FROM memory_entries
UNION ALL
SELECT user_id, 'document', chunk_id, document_id, NULL, 'document ' || document_id, chunk_index, document.created_at,
       NULL, NULL, NULL, chunk.content, NULL, NULL, NULL, false, false, NULL, NULL, NULL, document.title,
       chunk.metadata ->> 'heading', document.metadata, '{}', false, chunk.metadata, true
FROM document_chunks AS chunk JOIN documents AS document USING (user_id, document_id)
UNION ALL
-- Working memory is not searched: the conversation that it belongs to shows all of it.
SELECT user_id, 'context', context_id, context_id, session_id, 'context ' || context_id, 0, created_at, NULL, NULL,
       expires_at, replace(context_key, '_', ' ') || ': ' || context_value, NULL, NULL, NULL, false, false, NULL, NULL,
       context_type, NULL, NULL, metadata, '{}', true, NULL, true
FROM conversation_context WHERE context_type <> 'working'
UNION ALL
SELECT stated.user_id, 'statement', statement_id, statement_id, session_id, 'message ' || session_id, message_index,
       said_at, NULL, superseded_at, NULL, substr(content, start_at + 1, end_at - start_at), NULL, role,
       coalesce(metadata ->> 'speaker', metadata ->> 'name'), false, true, NULL, NULL, stated.kind,
       (SELECT session_name FROM conversation_sessions AS session
        WHERE session.user_id = message.user_id AND session.session_id = message.session_id),
       NULL, metadata, ARRAY[message_id], trust <> 'low',
       jsonb_build_object('about', about, 'start', start_at, 'end', end_at, 'since', since, 'until', until),
       char_length(btrim(content, E' \t\r\n')) > end_at - start_at
FROM statements AS stated JOIN conversation_messages AS message USING (user_id, message_id)
WHERE rejected_at IS NULL;

DROP TRIGGER forget_vector_trigger ON user_facts;
CREATE TRIGGER forget_vector_trigger BEFORE UPDATE OF fact_key, fact_value, about ON user_facts
    FOR EACH ROW WHEN ((OLD.fact_key, OLD.fact_value, OLD.about) IS DISTINCT FROM (NEW.fact_key, NEW.fact_value, NEW.about))
    EXECUTE FUNCTION ltst_forget_vector();
DROP TRIGGER row_rewritten_trigger ON user_facts;
CREATE TRIGGER row_rewritten_trigger AFTER UPDATE OF fact_key, fact_value, about ON user_facts
    FOR EACH ROW WHEN ((OLD.fact_key, OLD.fact_value, OLD.about) IS DISTINCT FROM (NEW.fact_key, NEW.fact_value, NEW.about))
    EXECUTE FUNCTION ltst_row_rewritten('fact', 'fact_id');

-- The same as before, with whom each fact is about.
CREATE OR REPLACE FUNCTION ltst_known(
    whose TEXT, session TEXT, agent TEXT, no_agent TEXT, shared TEXT[], longest INTEGER, most INTEGER,
    turns INTEGER,
    OUT summary JSON, OUT instructions JSON, OUT preferences JSON, OUT facts JSON, OUT contexts JSON, OUT working JSON,
    OUT messages JSON
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT TIMESTAMPTZ := clock_timestamp();
    named TEXT;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            -- To plan these anew would take longer than to carry them out.
            set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true);
    SELECT json_agg(told), max(told.agent_name) INTO summary, named
    FROM (SELECT context_summary, summarised_index, agent_name FROM conversation_sessions
          WHERE user_id = whose AND session_id = session) AS told;
    SELECT json_agg(given) INTO instructions
    FROM (SELECT agent_name, content, version, active, created_at, updated_at, id, user_id, learned
          FROM user_agent_prompt_customizations
          WHERE user_id = whose AND agent_name = coalesce(agent, named, no_agent) AND active) AS given;
    SELECT json_agg(preference) INTO preferences
    FROM (SELECT preference_key, preference_value, preference_type, sensitive, confidence_score, source, usage_count,
                 last_used, metadata, created_at, updated_at, preference_id, user_id, learned
          FROM user_preferences WHERE user_id = whose ORDER BY preference_key) AS preference;
    SELECT json_agg(fact) INTO facts
    FROM (SELECT fact_key, fact_value, confidence, source_message_id, valid_from, valid_to, recorded_at, superseded_by,
                 rejected_at, metadata, fact_id, user_id, learned, single_valued, ended_at, about
          FROM user_facts
          WHERE user_id = whose AND rejected_at IS NULL AND valid_from <= moment
            AND (valid_to IS NULL OR valid_to > moment)
          ORDER BY fact_key, valid_from, fact_id) AS fact;
    -- What an earlier conversation says under the same type and key is outdated.
    SELECT json_agg(merged) INTO contexts
    FROM (SELECT session_id, context_type, context_key, left(context_value, longest) AS context_value, relevance_score,
                 metadata, expires_at, context_id, user_id, context_hash, created_at
          FROM (SELECT DISTINCT ON (context_type, context_key) * FROM conversation_context
                WHERE user_id = whose AND context_type <> 'working'
                  AND (session_id = session OR context_type = ANY (shared))
                  AND (expires_at IS NULL OR expires_at > moment)
                ORDER BY context_type, context_key, session_id = session DESC, created_at DESC, context_id) AS newest
          ORDER BY session_id = session DESC, relevance_score DESC, created_at DESC, context_id
          LIMIT most) AS merged;
    SELECT json_agg(held) INTO working
    FROM (SELECT session_id, context_type, context_key, context_value, relevance_score, metadata, expires_at,
                 context_id, user_id, context_hash, created_at
          FROM conversation_context
          WHERE user_id = whose AND session_id = session AND context_type = 'working'
            AND (expires_at IS NULL OR expires_at > moment)
          ORDER BY context_key) AS held;
    IF turns IS NOT NULL THEN
        SELECT json_agg(said) INTO messages
        FROM (SELECT session_id, role, content, message_index, metadata, timestamp, message_id
              FROM ltst_window(whose, session, turns, NULL)) AS said;
    END IF;
END $$;
