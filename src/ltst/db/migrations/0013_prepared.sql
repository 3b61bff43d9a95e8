-- What every search asks, as functions: a function keeps its plans as long as the connection lives, also behind a pooler
-- that keeps no prepared statements, and to plan these took longer than to carry them out.

-- Whether rows of the user wait for their terms or vectors, and nobody is at them.
CREATE FUNCTION ltst_is_due(whose TEXT) RETURNS BOOLEAN LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversation_messages WHERE user_id = whose AND (terms IS NULL OR embedding IS NULL)
            AND NOT EXISTS (SELECT FROM derived_work AS work
                            WHERE work.user_id = whose AND task = 'embed' AND subject = message_id::text
                              AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now())))
        OR EXISTS (SELECT FROM user_facts WHERE user_id = whose AND (terms IS NULL OR embedding IS NULL)
            AND NOT EXISTS (SELECT FROM derived_work AS work
                            WHERE work.user_id = whose AND task = 'embed' AND subject = fact_id::text
                              AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now())))
        OR EXISTS (SELECT FROM memory_entries WHERE user_id = whose AND (terms IS NULL OR embedding IS NULL)
            AND NOT EXISTS (SELECT FROM derived_work AS work
                            WHERE work.user_id = whose AND task = 'embed' AND subject = entry_id::text
                              AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now())))
        OR EXISTS (SELECT FROM document_chunks WHERE user_id = whose AND (terms IS NULL OR embedding IS NULL)
            AND NOT EXISTS (SELECT FROM derived_work AS work
                            WHERE work.user_id = whose AND task = 'embed' AND subject = chunk_id::text
                              AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now())));
END $$;

-- Whether someone is writing for this user: a write holds this lock, shared, until it is over.
CREATE FUNCTION ltst_is_written(whose TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
    key BIGINT := hashtextextended(whose, 2);
BEGIN
    RETURN EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
          AND classid = (key >> 32 & 4294967295)::oid AND objid = (key & 4294967295)::oid
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()));
END $$;

-- What was found, with its words: the rows of any kind that have these keys.
CREATE FUNCTION ltst_found(whose TEXT, keys UUID[]) RETURNS TABLE (
    kind TEXT, key UUID, id UUID, content TEXT, occurred_at TIMESTAMPTZ, session_id VARCHAR, role VARCHAR, said_by TEXT,
    sources UUID[], trusted BOOLEAN, place JSONB
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT 'message', message_id, message_id, content, timestamp, session_id, role,
           coalesce(metadata ->> 'speaker', metadata ->> 'name'), ARRAY[message_id],
           role <> 'tool' AND coalesce(metadata ->> 'trust', '') <> 'low'
           AND coalesce(metadata ->> 'source', '') NOT IN ('tool', 'web', 'document', 'email', 'file', 'paste'),
           NULL::jsonb
    FROM conversation_messages WHERE user_id = whose AND message_id = ANY(keys)
    UNION ALL
    SELECT 'fact', fact_id, fact_id, fact_key || ': ' || fact_value, valid_from, NULL, NULL, NULL,
           ARRAY(SELECT source_message_id WHERE source_message_id IS NOT NULL
                 UNION SELECT message_id FROM claims WHERE claims.user_id = fact.user_id AND row_id = fact.fact_id),
           true, NULL
    FROM user_facts AS fact WHERE user_id = whose AND fact_id = ANY(keys)
    UNION ALL
    SELECT 'entry', entry_id, entry_id, content, occurred_at, session_id, NULL, NULL,
           ARRAY(SELECT told::uuid FROM jsonb_array_elements_text(
                     CASE WHEN learned AND jsonb_typeof(metadata -> 'sources') = 'array'
                          THEN metadata -> 'sources' ELSE '[]' END) AS told
                 WHERE told ~ '^[0-9a-f-]{36}$'),
           coalesce(metadata ->> 'trust', '') <> 'low', NULL
    FROM memory_entries
    WHERE user_id = whose AND entry_id = ANY(keys) AND (expires_at IS NULL OR expires_at > now())
    UNION ALL
    SELECT 'document', chunk_id, document_id, chunk.content, document.created_at, NULL, NULL, NULL, '{}', false,
           chunk.metadata
    FROM document_chunks AS chunk JOIN documents AS document USING (user_id, document_id)
    WHERE user_id = whose AND chunk_id = ANY(keys);
END $$;
