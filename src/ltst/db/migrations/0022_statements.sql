-- Statements: what messages tell of their writer's life, as spans of the messages; the words are theirs alone.

CREATE TABLE statements (
    user_id       VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    statement_id  UUID NOT NULL DEFAULT gen_random_uuid(),
    message_id    UUID NOT NULL,
    -- Where it begins and ends in the message, in characters.
    start_at      INTEGER NOT NULL CHECK (start_at >= 0),
    end_at        INTEGER NOT NULL CHECK (end_at > start_at),
    kind          VARCHAR(50) NOT NULL
                  CHECK (kind IN ('about_me', 'person', 'activity', 'taste', 'event', 'plan', 'order')),
    -- 'me', or a name or relation as said.
    about         VARCHAR(255) NOT NULL DEFAULT 'me' CHECK (about <> ''),
    said_at       TIMESTAMPTZ NOT NULL,
    -- When it began to hold or happens, and when a plan is over.
    since         TIMESTAMPTZ,
    until         TIMESTAMPTZ,
    -- The later statement that took its place, and when that was said.
    superseded_by UUID,
    superseded_at TIMESTAMPTZ,
    confidence    FLOAT NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    trust         VARCHAR(50) NOT NULL DEFAULT 'normal' CHECK (trust IN ('normal', 'low')),
    origin        VARCHAR(50) NOT NULL CHECK (origin IN ('gate', 'rule', 'model', 'hand')),
    recorded_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- One that is wrong stays, so that its span is not read again.
    rejected_at   TIMESTAMPTZ,
    -- Whether it was compared with the others, to see which takes whose place.
    compared      BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, statement_id),
    FOREIGN KEY (user_id, message_id) REFERENCES conversation_messages ON DELETE CASCADE
);
CREATE UNIQUE INDEX idx_statements_span ON statements (user_id, message_id, start_at, end_at);
CREATE INDEX idx_statements_said_at ON statements (user_id, said_at);
CREATE INDEX idx_statements_superseded_by ON statements (user_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX idx_statements_uncompared ON statements (user_id) WHERE NOT compared;

ALTER TABLE statements ENABLE ROW LEVEL SECURITY;
ALTER TABLE statements FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON statements TO ltst_user
    USING (user_id = current_setting('ltst.user_id', true)) WITH CHECK (user_id = current_setting('ltst.user_id', true));
CREATE POLICY all_rows ON statements TO ltst_keeper USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON statements TO ltst_user, ltst_keeper;

-- What a statement took the place of holds again when it goes, or is rejected, and is compared anew.
CREATE FUNCTION ltst_statements_removed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    -- It is called for each message that goes, and few of them state anything.
    IF NOT EXISTS (SELECT FROM gone) THEN
        RETURN NULL;
    END IF;
    UPDATE statements AS older SET superseded_by = NULL, superseded_at = NULL, compared = false
    FROM gone WHERE older.user_id = gone.user_id AND older.superseded_by = gone.statement_id;
    RETURN NULL;
END $$;
CREATE TRIGGER restored_trigger AFTER DELETE ON statements
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_statements_removed();

-- Each kind with its place, so that a statement can stand at the place of its message; and whether a row gets a vector of
-- its own: what is told word for word elsewhere is found there.
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
       fact_key || ': ' || fact_value, NULL, NULL, NULL, false, learned, NULL, NULL, NULL, NULL, NULL, metadata,
       ARRAY(SELECT source_message_id WHERE source_message_id IS NOT NULL
             UNION SELECT message_id FROM claims WHERE claims.user_id = fact.user_id AND row_id = fact.fact_id),
       true, NULL, true
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

ALTER TABLE search_units ADD COLUMN vectored BOOLEAN NOT NULL DEFAULT true;
UPDATE search_units SET vectored = false WHERE kind = 'message' AND retold;

CREATE TRIGGER rows_added_trigger AFTER INSERT ON statements
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_added('statement', 'statement_id');
CREATE TRIGGER rows_removed_trigger AFTER DELETE ON statements
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('statement_id');
CREATE TRIGGER row_changed_trigger AFTER UPDATE OF superseded_at, rejected_at ON statements
    FOR EACH ROW WHEN ((OLD.superseded_at, OLD.rejected_at) IS DISTINCT FROM (NEW.superseded_at, NEW.rejected_at))
    EXECUTE FUNCTION ltst_row_changed('statement', 'statement_id');

CREATE OR REPLACE FUNCTION ltst_rows_removed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    owner TEXT;
    ids UUID[];
BEGIN
    -- It is called for each message that goes, of which few have such rows.
    IF NOT EXISTS (SELECT FROM gone) THEN
        RETURN NULL;
    END IF;
    FOR owner, ids IN EXECUTE format(
        'SELECT user_id, array_agg(%I) FROM gone GROUP BY user_id ORDER BY user_id', TG_ARGV[0])
    LOOP
        PERFORM ltst_drop_units(owner, ids);
    END LOOP;
    RETURN NULL;
END $$;

-- The same as before, but the place is hashed as the view has it, and a unit knows whether it gets a vector.
CREATE OR REPLACE FUNCTION ltst_add_words(
    whose TEXT, ids UUID[], sinces TIMESTAMPTZ[], next_stages SMALLINT[], lengths INTEGER[],
    held INTEGER[], terms TEXT[], counts INTEGER[]
) RETURNS INTEGER LANGUAGE plpgsql AS $$
DECLARE
    first INTEGER;
    numbers INTEGER[];
    found INTEGER;
    size BIGINT;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            pg_advisory_xact_lock_shared(hashtextextended(whose, 2));  -- so that an erasure waits
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
                                  vectored)
        SELECT whose, number, kind, row_id, hashtextextended(place, 0), position,
               hashtextextended(session_id, 0), occurred_at, valid_from, valid_until, expires_at, length,
               left(said_by, 255), by_machine AND said_by IS NULL, retold, coalesce(importance, 0), used_at,
               -- Rows that are written by hand may have any.
               CASE WHEN content_hash ~ '^[0-9a-f]{16}' THEN ('x' || left(content_hash, 16))::bit(64)::bigint END,
               vectored
        FROM search_sources JOIN unnest(ids, numbers, lengths) AS given (id, number, length) ON given.id = row_id
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
    WHERE user_id = whose AND row_id = given.id AND due.since = given.since AND stage = 0 AND next_stage IS NULL;
    UPDATE search_due AS due SET stage = next_stage
    FROM unnest(ids, sinces, next_stages) AS given (id, since, next_stage)
    WHERE user_id = whose AND row_id = given.id AND due.since = given.since AND stage = 0;
    RETURN found;
END $$;

-- What a message stated goes with its old words.
CREATE OR REPLACE FUNCTION ltst_message_rewritten() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    -- First, since it takes the work away from whoever is at the old words: after it, no claim of theirs comes in.
    PERFORM ltst_untell_from(OLD.user_id, OLD.session_id, OLD.message_index, ARRAY[OLD.message_id]);
    DELETE FROM claims WHERE user_id = OLD.user_id AND message_id = OLD.message_id;
    DELETE FROM statements WHERE user_id = OLD.user_id AND message_id = OLD.message_id;
    INSERT INTO derived_work (user_id, task, subject, attempts)
    SELECT NEW.user_id, due.task, NEW.message_id::text, 0
    FROM conversation_sessions AS session
    CROSS JOIN LATERAL (VALUES ('read', learned_index), ('reread', refined_index)) AS due (task, reached)
    WHERE session.user_id = NEW.user_id AND session.session_id = NEW.session_id AND NEW.message_index <= due.reached
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

-- The vector of a statement: its own, or that of the message that it is the whole of.
CREATE FUNCTION ltst_statement_vector(whose TEXT, statement UUID, message UUID) RETURNS VECTOR
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT embedding FROM search_units JOIN search_vectors USING (user_id, unit_no)
            WHERE user_id = whose AND row_id = CASE
                      WHEN EXISTS (SELECT FROM search_units WHERE user_id = whose AND row_id = statement AND NOT vectored)
                      THEN message ELSE statement END
              AND part = 0);
END $$;
