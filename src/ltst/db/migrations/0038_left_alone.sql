-- Indexing leaves the rows that it reads as they are: vectors lie in search_vectors alone, and how relevant a message is,
-- as its words tell, in search_units. The columns `embedding` and `relevance_score` of a message hold what its writer gave,
-- and in older rows what indexing wrote there; the `embedding` of facts, entries and chunks is read no longer.
ALTER TABLE search_units ADD COLUMN relevance FLOAT;

DROP TRIGGER forget_vector_trigger ON user_facts;
DROP TRIGGER forget_vector_trigger ON memory_entries;
-- A change of the model used to change these columns, too.
DO $$
DECLARE
    changed TEXT;
BEGIN
    FOREACH changed IN ARRAY ARRAY['conversation_messages', 'user_facts', 'memory_entries', 'document_chunks'] LOOP
        PERFORM FROM pg_attribute WHERE attrelid = changed::regclass AND attname = 'embedding' AND atttypmod = 384;
        IF NOT FOUND THEN
            EXECUTE format('ALTER TABLE %I DROP COLUMN embedding', changed);
            EXECUTE format('ALTER TABLE %I ADD COLUMN embedding VECTOR(384)', changed);
        END IF;
    END LOOP;
    IF to_regclass('idx_conversation_messages_embedding') IS NULL THEN
        EXECUTE 'CREATE INDEX idx_conversation_messages_embedding ON conversation_messages '
                'USING hnsw (embedding vector_cosine_ops) WITH (ef_construction = 200) WHERE ann';
    END IF;
END $$;

-- The vector that a message came with, if it is one of the model in use: no other was in use since, and it is as long. The
-- minute is for what was copied at the moment of the change, and for servers whose clocks differ.
CREATE FUNCTION ltst_of_the_model(given VECTOR, given_at TIMESTAMPTZ) RETURNS VECTOR LANGUAGE sql STABLE STRICT AS $$
    SELECT given WHERE NOT EXISTS (
        SELECT FROM embedding_models
        WHERE state = 'active' AND (dimensions <> vector_dims(given) OR number > 1 AND given_at < since + interval '1 minute'))
$$;

-- Indexes rows anew: they say something else, or are called otherwise. What waited for a vector waits for its words again.
CREATE OR REPLACE FUNCTION ltst_index_again(whose TEXT, what TEXT, changed UUID[]) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    PERFORM ltst_drop_units(whose, changed);
    INSERT INTO search_due (user_id, kind, row_id) SELECT whose, what, unnest(changed)
    ON CONFLICT (user_id, row_id) DO UPDATE SET stage = 0, since = clock_timestamp();
END $$;

DROP FUNCTION ltst_add_words(TEXT, UUID[], TIMESTAMPTZ[], SMALLINT[], INTEGER[], REAL[], INTEGER[], TEXT[], INTEGER[]);
CREATE FUNCTION ltst_add_words(
    whose TEXT, ids UUID[], sinces TIMESTAMPTZ[], next_stages SMALLINT[], lengths INTEGER[], tells REAL[],
    relevances FLOAT[], held INTEGER[], terms TEXT[], counts INTEGER[]
) RETURNS INTEGER LANGUAGE plpgsql AS $$
DECLARE
    first INTEGER;
    numbers INTEGER[];
    found INTEGER;
    size BIGINT;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            pg_advisory_xact_lock_shared(hashtextextended(whose, 2));  -- so that an erasure waits
    -- If an erasure was waited for, no row may be written for a user who is gone.
    IF NOT EXISTS (SELECT FROM search_due WHERE user_id = whose AND row_id = ANY(ids) AND stage = 0) THEN
        RETURN 0;
    END IF;
    INSERT INTO search_users (user_id) VALUES (whose) ON CONFLICT DO NOTHING;
    SELECT next_unit INTO first FROM search_users WHERE user_id = whose FOR UPDATE;
    -- By place: the number of each, null where there is nothing to do.
    WITH due AS (
        SELECT row_id, since FROM search_due
        WHERE user_id = whose AND row_id = ANY(ids) AND stage = 0
          AND NOT EXISTS (SELECT FROM search_units AS unit
                          WHERE unit.user_id = whose AND unit.row_id = search_due.row_id)
        FOR UPDATE
    )
    SELECT array_agg(CASE WHEN still THEN first + reached - 1 END ORDER BY place), coalesce(max(reached), 0)
    INTO numbers, found
    FROM (SELECT place, due.row_id IS NOT NULL AS still, count(due.row_id) OVER (ORDER BY place) AS reached
          FROM unnest(ids, sinces) WITH ORDINALITY AS given (id, since, place)
          LEFT JOIN due ON due.row_id = given.id AND due.since = given.since) AS counted;
    WITH added AS (
        INSERT INTO search_units (user_id, unit_no, kind, row_id, place, position, session, occurred_at, valid_from,
                                  valid_until, expires_at, words, speaker, by_machine, retold, importance, used_at, said,
                                  vectored, tells, relevance, outdated)
        SELECT whose, number, kind, row_id, hashtextextended(place, 0), position,
               hashtextextended(session_id, 0), occurred_at, valid_from, valid_until, expires_at, length,
               left(said_by, 255), by_machine AND said_by IS NULL, retold, coalesce(importance, 0), used_at,
               -- Rows that are written by hand may have any.
               CASE WHEN content_hash ~ '^[0-9a-f]{16}' THEN ('x' || left(content_hash, 16))::bit(64)::bigint END,
               vectored, told, relevant, CASE kind WHEN 'message' THEN ltst_outdated(whose, row_id) ELSE 0 END
        FROM search_sources
        JOIN unnest(ids, numbers, lengths, tells, relevances) AS given (id, number, length, told, relevant) ON given.id = row_id
        WHERE user_id = whose AND row_id = ANY(ids) AND number IS NOT NULL
        RETURNING speaker)
    INSERT INTO search_speakers AS known (user_id, name, units)
    SELECT whose, speaker, count(*) FROM added WHERE speaker IS NOT NULL GROUP BY speaker
    ON CONFLICT (user_id, name) DO UPDATE SET units = known.units + excluded.units;
    INSERT INTO search_terms AS known (user_id, term, block, postings)
    SELECT whose, term, number / 1024, array_agg((number % 1024 + 1024 * least(count, 31))::smallint ORDER BY number)
    FROM unnest(held, terms, counts) AS posting (place, term, count)
    JOIN unnest(numbers) WITH ORDINALITY AS given (number, place) USING (place)
    WHERE number IS NOT NULL
    GROUP BY term, number / 1024 ORDER BY term
    ON CONFLICT (user_id, term, block) DO UPDATE SET postings = known.postings || excluded.postings;
    SELECT sum(length) INTO size FROM unnest(numbers, lengths) AS given (number, length) WHERE number IS NOT NULL;
    UPDATE search_users SET next_unit = first + found, units = units + found, words = words + coalesce(size, 0)
    WHERE user_id = whose;
    DELETE FROM search_due AS due USING unnest(ids, sinces, next_stages) AS given (id, since, next_stage)
    WHERE user_id = whose AND row_id = ANY(ids) AND row_id = given.id AND due.since = given.since AND stage = 0
      AND next_stage IS NULL;
    UPDATE search_due AS due SET stage = next_stage
    FROM unnest(ids, sinces, next_stages) AS given (id, since, next_stage)
    WHERE user_id = whose AND row_id = ANY(ids) AND row_id = given.id AND due.since = given.since AND stage = 0;
    RETURN found;
END $$;

DROP FUNCTION ltst_add_vectors(
    TEXT, TEXT, TEXT, TEXT, UUID[], TIMESTAMPTZ[], SMALLINT[], FLOAT[], INTEGER[], SMALLINT[], TEXT[]);
DROP FUNCTION ltst_fill_vectors(TEXT, TEXT, TEXT, UUID[], TEXT[], FLOAT[]);
DROP FUNCTION ltst_known_vectors(TEXT, TEXT, TEXT, UUID[]);
CREATE FUNCTION ltst_add_vectors(
    whose TEXT, made_by TEXT, ids UUID[], sinces TIMESTAMPTZ[], left_stages SMALLINT[], held INTEGER[], parts SMALLINT[],
    vectors TEXT[]
) RETURNS SETOF UUID LANGUAGE plpgsql AS $$
DECLARE
    free UUID[];
    model_no SMALLINT;
BEGIN
    LOCK TABLE search_vectors IN ROW EXCLUSIVE MODE;  -- so that the model is not changed after it is asked for
    SELECT number INTO model_no FROM embedding_models WHERE state = 'active' AND name = made_by;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    free := ARRAY(
        SELECT row_id FROM search_due JOIN unnest(ids, sinces) AS given (id, since) ON row_id = given.id
        WHERE user_id = whose AND row_id = ANY(ids) AND search_due.since = given.since AND stage > 0
        FOR UPDATE OF search_due SKIP LOCKED);
    INSERT INTO search_vectors AS known (user_id, unit_no, part, model, embedding, ann)
    SELECT whose, unit_no, part, model_no, l2_normalize(vector::vector)::halfvec,
           coalesce((SELECT large FROM search_users WHERE user_id = whose), false)
    FROM unnest(held, parts, vectors) AS made (place, part, vector)
    JOIN unnest(ids) WITH ORDINALITY AS given (id, place) USING (place)
    JOIN search_units ON user_id = whose AND row_id = id
    WHERE id = ANY(free)
    ON CONFLICT (user_id, unit_no, part, model) DO UPDATE SET embedding = excluded.embedding;
    DELETE FROM search_due USING unnest(ids, left_stages) AS given (id, left_stage)
    WHERE user_id = whose AND row_id = given.id AND row_id = ANY(free) AND left_stage IS NULL;
    UPDATE search_due SET stage = left_stage FROM unnest(ids, left_stages) AS given (id, left_stage)
    WHERE user_id = whose AND row_id = given.id AND row_id = ANY(free) AND left_stage IS NOT NULL;
    RETURN QUERY SELECT unnest(free);
END $$;

-- A message whose writer gave no score counts by its words, once these are indexed.
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
       coalesce(avg(coalesce(nullif(message.relevance_score, 0), unit.relevance)), min(message.relevance_score))
           AS avg_message_relevance
FROM conversation_sessions AS session
LEFT JOIN conversation_messages AS message USING (user_id, session_id)
LEFT JOIN search_units AS unit ON unit.user_id = message.user_id AND unit.row_id = message.message_id
GROUP BY session.user_id, session.session_id, session.session_name, session.session_type, session.status,
         session.created_at, session.last_activity;
