-- The short-term window over a cache: Postgres says which messages are in it, and sends those that the cache lacks.

-- A function that may change things takes a new look at the table with each of its queries, so that a message added in
-- between was one too many. This one only reads: both of its queries see the same moment.
ALTER FUNCTION ltst_window(TEXT, TEXT, INTEGER, INTEGER) STABLE;

-- The same window as ltst_window's. `known` maps the ids of messages that the caller holds to their versions. The first
-- row tells the indexes of those that are in the window unchanged (`kept`); one row follows for each of the others.
--
-- A version is the transaction that wrote the row (xmin): whoever changes a message, by whatever path, changes it. No
-- two committed states of one message share it, and it costs the writers nothing. The id says whose version it is, so
-- that a message with another's place in the same session, or a lost transaction's number given out again after a
-- failover, is another message.
CREATE FUNCTION ltst_window_difference(
    acting_user TEXT, session TEXT, most INTEGER, tokens INTEGER, known JSONB
) RETURNS TABLE (
    kept INTEGER[], version TEXT, session_id VARCHAR, role VARCHAR, content TEXT, message_type VARCHAR,
    message_index INTEGER, parent_message_id UUID, metadata JSONB, relevance_score FLOAT, is_context_message BOOLEAN,
    "timestamp" TIMESTAMPTZ, message_id UUID, user_id VARCHAR, content_hash VARCHAR, context_hash VARCHAR,
    message_key VARCHAR, token_count INTEGER, created_at TIMESTAMPTZ
) LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
    message RECORD;
    spent BIGINT := 0;
    unchanged INTEGER[] := '{}';
    oldest INTEGER;
    newest INTEGER;
BEGIN
    PERFORM set_config('ltst.user_id', acting_user, true), set_config('role', 'ltst_user', true);
    FOR message IN
        SELECT message_index, token_count, xmin::text = known ->> message_id::text AS same
        FROM conversation_messages
        WHERE user_id = acting_user AND session_id = session ORDER BY message_index DESC LIMIT most
    LOOP
        spent := spent + message.token_count;
        EXIT WHEN spent > tokens;
        IF message.same THEN
            unchanged := unchanged || message.message_index;
        ELSE
            newest := coalesce(newest, message.message_index);
            oldest := message.message_index;
        END IF;
    END LOOP;
    kept := unchanged;
    RETURN NEXT;
    IF oldest IS NOT NULL THEN
        RETURN QUERY
        SELECT NULL::integer[], xmin::text, session_id, role, content, message_type, message_index, parent_message_id,
               metadata, relevance_score, is_context_message, timestamp, message_id, user_id, content_hash,
               context_hash, message_key, token_count, created_at
        FROM conversation_messages
        WHERE user_id = acting_user AND session_id = session AND message_index BETWEEN oldest AND newest
          AND message_index <> ALL (unchanged)
        ORDER BY message_index;
    END IF;
END $$;
