-- Views. They read with the caller's rights, so row-level security holds through them too.

CREATE VIEW session_summary WITH (security_invoker = true) AS
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
       min(message.timestamp) AS first_message_at,
       max(message.timestamp) AS last_message_at,
       avg(message.relevance_score) AS average_relevance
FROM conversation_sessions AS session
LEFT JOIN conversation_messages AS message USING (user_id, session_id)
GROUP BY session.user_id, session.session_id;

CREATE VIEW user_preference_summary WITH (security_invoker = true) AS
SELECT user_id,
       preference_type,
       count(*)::integer AS preference_count,
       count(*) FILTER (WHERE source = 'explicit')::integer AS explicit_count,
       count(*) FILTER (WHERE source = 'learned')::integer AS learned_count,
       count(*) FILTER (WHERE source = 'inferred')::integer AS inferred_count,
       count(*) FILTER (WHERE sensitive)::integer AS sensitive_count,
       avg(confidence_score) AS average_confidence,
       sum(usage_count)::integer AS usage_count,
       max(updated_at) AS last_updated
FROM user_preferences
GROUP BY user_id, preference_type;

-- The shape that langchain_postgres.PostgresChatMessageHistory reads and writes. The filter repeats the policy,
-- because a connection that an application opens itself may belong to a role that policies do not bind.
CREATE VIEW chat_message_history WITH (security_invoker = true) AS
SELECT message_index AS id,
       session_id,
       jsonb_build_object(
           'type', CASE metadata #>> '{chat_message_history,type}' WHEN 'function' THEN 'function' ELSE role END,
           'data', jsonb_build_object('content', content)
                   || CASE
                       WHEN jsonb_typeof(metadata -> 'chat_message_history') = 'object'
                           THEN metadata -> 'chat_message_history'
                       -- LangChain cannot read a tool's answer that does not say what it answers.
                       WHEN role = 'tool' THEN '{"tool_call_id": ""}'::jsonb
                       ELSE '{}'::jsonb END
                   || jsonb_build_object('type',
                       CASE metadata #>> '{chat_message_history,type}' WHEN 'function' THEN 'function' ELSE role END)
       ) AS message,
       timestamp AS created_at
FROM conversation_messages
WHERE user_id = current_setting('ltst.user_id', true);

-- LangChain's names of roles, and what its messages hold that is not text: kept whole in the metadata.
CREATE FUNCTION ltst_write_chat_message_history() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    owner TEXT := nullif(current_setting('ltst.user_id', true), '');
    body JSONB := jsonb_build_object('type', NEW.message -> 'type') || (NEW.message -> 'data');
    kind TEXT := CASE NEW.message ->> 'type' WHEN 'user' THEN 'human' WHEN 'assistant' THEN 'ai'
                 WHEN 'function' THEN 'tool' ELSE NEW.message ->> 'type' END;
    plain TEXT := CASE jsonb_typeof(body -> 'content') WHEN 'string' THEN body ->> 'content'
                  ELSE (body -> 'content')::text END;
    stored UUID;
BEGIN
    IF owner IS NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'no user is set on this connection',
            HINT = 'run: SELECT set_config(''ltst.user_id'', ''<the user>'', false)';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(owner, 2));
    PERFORM ltst_open_session(owner, NEW.session_id::text, NULL, NULL, 'chat_message_history', now());
    INSERT INTO conversation_messages (user_id, session_id, role, content, token_count, metadata, timestamp)
    VALUES (owner, NEW.session_id, kind, plain, (octet_length(plain) + 3) / 4,
            jsonb_build_object('chat_message_history', CASE jsonb_typeof(body -> 'content')
                WHEN 'string' THEN body - 'content' ELSE body END),
            coalesce(NEW.created_at, clock_timestamp()))
    RETURNING message_id INTO stored;
    INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
    VALUES (owner, 'chat_message_history', 'add', 'message', stored::text,
            jsonb_build_object('session_id', NEW.session_id));
    RETURN NEW;
END $$;

CREATE TRIGGER write_chat_message_history_trigger INSTEAD OF INSERT ON chat_message_history
    FOR EACH ROW EXECUTE FUNCTION ltst_write_chat_message_history();

CREATE FUNCTION ltst_clear_chat_message_history() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    owner TEXT := current_setting('ltst.user_id', true);
    removed UUID;
BEGIN
    DELETE FROM conversation_messages
    WHERE user_id = owner AND session_id = OLD.session_id AND message_index = OLD.id
    RETURNING message_id INTO removed;
    INSERT INTO event_ledger (user_id, actor, action, noun, row_id, details)
    VALUES (owner, 'chat_message_history', 'delete', 'message', removed::text,
            jsonb_build_object('session_id', OLD.session_id));
    RETURN OLD;
END $$;

CREATE TRIGGER clear_chat_message_history_trigger INSTEAD OF DELETE ON chat_message_history
    FOR EACH ROW EXECUTE FUNCTION ltst_clear_chat_message_history();
