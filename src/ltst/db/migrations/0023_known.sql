-- What a prompt holds beside what is searched for, in one call whose queries are planned once: instructions for the
-- agent, or else for the one that the session names, the running summary, preferences, facts that hold now, contexts of
-- this session and those that the user's others share, working memory, and so many of the newest turns, if any are asked
-- for. Each is a list of rows.
CREATE FUNCTION ltst_known(
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
                 rejected_at, metadata, fact_id, user_id, learned, single_valued, ended_at
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
