-- Names, widths and defaults that people who know such a schema expect.

-- These columns take any word of up to 100 characters. The views that read them are made anew below.
DROP VIEW user_preference_summary, session_summary;
DO $$
DECLARE
    rule RECORD;
BEGIN
    FOR rule IN
        SELECT conrelid::regclass AS owner, conname FROM pg_constraint
        JOIN pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
        WHERE contype = 'c' AND (conrelid, attname) IN (
            ('user_preferences'::regclass, 'source'), ('session_relationships'::regclass, 'relationship_type'),
            ('memory_performance_metrics'::regclass, 'operation_type'))
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', rule.owner, rule.conname);
    END LOOP;
END $$;
ALTER TABLE user_preferences ALTER COLUMN source TYPE VARCHAR(100);
ALTER TABLE session_relationships ALTER COLUMN relationship_type TYPE VARCHAR(100);
ALTER TABLE memory_performance_metrics ALTER COLUMN operation_type TYPE VARCHAR(100);

CREATE OR REPLACE VIEW session_summary WITH (security_invoker = true) AS
SELECT session.user_id,
       session.session_id,
       session.session_name,
       session.session_type,
       session.status,
       session.created_at,
       session.last_activity,
       count(message.message_id)::integer AS message_count,
       count(*) FILTER (WHERE message.role = 'human')::integer AS human_messages,
       count(*) FILTER (WHERE message.role = 'ai')::integer AS ai_messages,
       count(*) FILTER (WHERE message.role = 'system')::integer AS system_messages,
       count(*) FILTER (WHERE message.role = 'tool')::integer AS tool_messages,
       coalesce(sum(message.token_count), 0)::integer AS token_count,
       min(message.timestamp) AS first_message_time,
       max(message.timestamp) AS last_message_time,
       avg(message.relevance_score) AS avg_message_relevance
FROM conversation_sessions AS session
LEFT JOIN conversation_messages AS message USING (user_id, session_id)
GROUP BY session.user_id, session.session_id;

CREATE OR REPLACE VIEW user_preference_summary WITH (security_invoker = true) AS
SELECT user_id,
       preference_type,
       count(*)::integer AS preference_count,
       count(*) FILTER (WHERE source = 'explicit')::integer AS explicit_count,
       count(*) FILTER (WHERE source = 'learned')::integer AS learned_count,
       count(*) FILTER (WHERE source = 'inferred')::integer AS inferred_count,
       count(*) FILTER (WHERE sensitive)::integer AS sensitive_count,
       avg(confidence_score) AS avg_confidence,
       sum(usage_count)::integer AS total_usage,
       max(last_used) AS last_preference_used,
       max(updated_at) AS last_updated
FROM user_preferences
GROUP BY user_id, preference_type;
GRANT SELECT ON session_summary, user_preference_summary TO ltst_user, ltst_keeper;

-- When a row was last changed, by whomever.
CREATE FUNCTION ltst_note_update() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := now();
    RETURN NEW;
END $$;
ALTER TABLE conversation_sessions ADD COLUMN updated_at TIMESTAMPTZ NOT NULL DEFAULT now();
CREATE TRIGGER update_conversation_sessions_updated_at BEFORE UPDATE ON conversation_sessions
    FOR EACH ROW EXECUTE FUNCTION ltst_note_update();
ALTER TABLE conversation_context ADD COLUMN updated_at TIMESTAMPTZ NOT NULL DEFAULT now();
CREATE TRIGGER update_conversation_context_updated_at BEFORE UPDATE ON conversation_context
    FOR EACH ROW EXECUTE FUNCTION ltst_note_update();

-- What rows written by hand may leave out. A retrieval belongs to the owner of its session; what has no owner belongs to
-- `system`, which is nobody's id.
CREATE FUNCTION ltst_fill_retrieval() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.user_id := CASE
        WHEN NEW.session_id IS NOT NULL THEN ltst_session_owner(NEW.session_id)
        ELSE coalesce(nullif(current_setting('ltst.user_id', true), ''), 'system') END;
    RETURN NEW;
END $$;
CREATE TRIGGER fill_user_id_trigger BEFORE INSERT ON memory_retrieval_cache
    FOR EACH ROW WHEN (NEW.user_id IS NULL) EXECUTE FUNCTION ltst_fill_retrieval();
ALTER TABLE memory_retrieval_cache ADD COLUMN last_accessed TIMESTAMPTZ;

-- A measurement says nobody's name.
CREATE FUNCTION ltst_fill_metric() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.user_id := coalesce(NEW.user_id, 'system');
    NEW.operation_name := coalesce(NEW.operation_name, NEW.operation_type);
    NEW.operation_hash := coalesce(NEW.operation_hash, ltst_sha256(NEW.operation_type));
    RETURN NEW;
END $$;
CREATE TRIGGER fill_metric_trigger BEFORE INSERT ON memory_performance_metrics
    FOR EACH ROW WHEN (NEW.user_id IS NULL OR NEW.operation_name IS NULL OR NEW.operation_hash IS NULL)
    EXECUTE FUNCTION ltst_fill_metric();
ALTER TABLE memory_performance_metrics ADD COLUMN metadata JSONB NOT NULL DEFAULT '{}';
