-- One index for everything that can be found. A unit stands for one row of any kind; its words lie in packed postings,
-- its vectors in a table of their own. All of it is derived: it can be emptied and is built again.

-- How a row of each kind becomes a unit, and how a hit is read back. Nothing else knows the kinds, but the triggers
-- below that tell of changed rows. Vectors are left out: their columns are exchanged when the model is changed.
CREATE VIEW search_sources WITH (security_invoker = true) AS
SELECT message.user_id, 'message' AS kind, message_id AS row_id, message_id AS id, session_id, session_id::text AS place,
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
       NULL::jsonb AS details
FROM conversation_messages AS message
UNION ALL
SELECT user_id, 'fact', fact_id, fact_id, NULL, fact_id::text, 0, valid_from, valid_from, valid_to, NULL,
       fact_key || ': ' || fact_value, NULL, NULL, NULL, false, learned, NULL, NULL, NULL, NULL, NULL, metadata,
       ARRAY(SELECT source_message_id WHERE source_message_id IS NOT NULL
             UNION SELECT message_id FROM claims WHERE claims.user_id = fact.user_id AND row_id = fact.fact_id),
       true, NULL
FROM user_facts AS fact WHERE rejected_at IS NULL
UNION ALL
SELECT user_id, 'entry', entry_id, entry_id, session_id, entry_id::text, 0, occurred_at, NULL, NULL, expires_at, content,
       NULL, NULL, NULL, false, learned,
       CASE WHEN importance_score < 1e-30 THEN 0 ELSE importance_score END,  -- as a REAL holds it
       greatest(last_used, occurred_at), memory_type, NULL, NULL, metadata,
       ARRAY(SELECT told::uuid FROM jsonb_array_elements_text(
                 CASE WHEN learned AND jsonb_typeof(metadata -> 'sources') = 'array'
                      THEN metadata -> 'sources' ELSE '[]' END) AS told
             WHERE told ~ '^[0-9a-f-]{36}$'),
       coalesce(metadata ->> 'trust', '') <> 'low', NULL
FROM memory_entries
UNION ALL
SELECT user_id, 'document', chunk_id, document_id, NULL, document_id::text, chunk_index, document.created_at, NULL, NULL,
       NULL, chunk.content, NULL, NULL, NULL, false, false, NULL, NULL, NULL, document.title, chunk.metadata ->> 'heading',
       document.metadata, '{}', false, chunk.metadata
FROM document_chunks AS chunk JOIN documents AS document USING (user_id, document_id)
UNION ALL
-- Working memory is not searched: the conversation that it belongs to shows all of it.
SELECT user_id, 'context', context_id, context_id, session_id, context_id::text, 0, created_at, NULL, NULL, expires_at,
       replace(context_key, '_', ' ') || ': ' || context_value, NULL, NULL, NULL, false, false, NULL, NULL, context_type,
       NULL, NULL, metadata, '{}', true, NULL
FROM conversation_context WHERE context_type <> 'working';

-- What is indexed of one user. Whoever adds or removes units holds this row, so that units are numbered one by one.
CREATE TABLE search_users (
    user_id   VARCHAR(255) NOT NULL PRIMARY KEY CHECK (user_id <> ''),
    next_unit INTEGER NOT NULL DEFAULT 0,
    units     INTEGER NOT NULL DEFAULT 0,
    words     BIGINT NOT NULL DEFAULT 0,
    -- Whether there are so many vectors that new ones go into the HNSW index, and whether it holds them all.
    large     BOOLEAN NOT NULL DEFAULT false,
    ready     BOOLEAN NOT NULL DEFAULT false
);

CREATE TABLE search_units (
    user_id     VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    unit_no     INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    row_id      UUID NOT NULL,
    -- Units of one place stand beside each other, by their positions; session and place are hashes.
    place       BIGINT NOT NULL,
    position    INTEGER NOT NULL,
    session     BIGINT,
    occurred_at TIMESTAMPTZ NOT NULL,
    -- When a fact holds.
    valid_from  TIMESTAMPTZ,
    valid_until TIMESTAMPTZ,
    expires_at  TIMESTAMPTZ,
    words       INTEGER NOT NULL,
    speaker     TEXT,
    -- By a tool or an assistant that has no name.
    by_machine  BOOLEAN NOT NULL,
    retold      BOOLEAN NOT NULL,
    importance  REAL NOT NULL DEFAULT 0,
    used_at     TIMESTAMPTZ,
    -- The beginning of the content's hash, which tells texts that are the same.
    said        BIGINT,
    -- What ranking reads of a unit, in one piece: thousands of them are sent at once. `recall/retrieve.py` names the parts.
    ranked      BYTEA NOT NULL GENERATED ALWAYS AS (
        int4send(unit_no) || int8send(place) || int4send(position) || timestamptz_send(occurred_at) || int4send(words)
        || int4send(coalesce(('x' || left(md5(speaker), 8))::bit(32)::integer, 0)) || boolsend(by_machine) || boolsend(retold) || float4send(importance)
        || timestamptz_send(coalesce(used_at, occurred_at)) || int8send(coalesce(said, 0))) STORED,
    PRIMARY KEY (user_id, unit_no)
);
CREATE UNIQUE INDEX idx_search_units_row ON search_units (user_id, row_id);

-- Who speaks in the units of a user, by the names that their metadata give.
CREATE TABLE search_speakers (
    user_id VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    name    TEXT NOT NULL,
    units   INTEGER NOT NULL,
    PRIMARY KEY (user_id, name)
);

-- Which units of a user hold a term, in blocks of 1,024 units: each posting is the unit's number within its block and,
-- in the bits above, how often the term stands there.
CREATE TABLE search_terms (
    user_id  VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    term     TEXT NOT NULL,
    block    INTEGER NOT NULL,
    postings SMALLINT[] NOT NULL,
    PRIMARY KEY (user_id, term, block)
) WITH (fillfactor = 80);
-- A common term is read whole: not in pieces from another table.
ALTER TABLE search_terms ALTER COLUMN postings SET STORAGE MAIN, SET (toast_tuple_target = 8160);

-- Part 0 is the vector of the whole; a text that is longer than what the model reads has those of its parts, too.
CREATE TABLE search_vectors (
    user_id   VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    unit_no   INTEGER NOT NULL,
    part      SMALLINT NOT NULL,
    embedding VECTOR(384),
    ann       BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, unit_no, part)
);
ALTER TABLE search_vectors ALTER COLUMN embedding SET STORAGE PLAIN;
-- Partial, and built with care, as the one on messages was.
CREATE INDEX idx_search_vectors_embedding ON search_vectors
    USING hnsw (embedding vector_cosine_ops) WITH (ef_construction = 200) WHERE ann;

-- Rows that are not indexed, or not wholly. The stage says what they lack: 0 their words, 1 the vector of something that
-- the user said or that was kept for them, 2 any other vector, 3 the vectors of further parts.
CREATE TABLE search_due (
    user_id VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    kind    TEXT NOT NULL,
    row_id  UUID NOT NULL,
    stage   SMALLINT NOT NULL DEFAULT 0,
    since   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, row_id)
);
CREATE INDEX idx_search_due_stage ON search_due (user_id, stage, since);

DO $$
DECLARE
    table_name TEXT;
BEGIN
    FOREACH table_name IN ARRAY ARRAY[
        'search_users', 'search_units', 'search_speakers', 'search_terms', 'search_vectors', 'search_due'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', table_name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', table_name);
        EXECUTE format(
            'CREATE POLICY own_rows ON %I TO ltst_user '
            'USING (user_id = current_setting(''ltst.user_id'', true)) '
            'WITH CHECK (user_id = current_setting(''ltst.user_id'', true))', table_name);
        EXECUTE format('CREATE POLICY all_rows ON %I TO ltst_keeper USING (true) WITH CHECK (true)', table_name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO ltst_user, ltst_keeper', table_name);
    END LOOP;
END $$;
GRANT SELECT ON search_sources TO ltst_user, ltst_keeper;

-- Takes units out of the index: their rows are gone, or say something else now. The row in `search_users` comes first,
-- as it does for whoever adds units, so that the two do not wait for each other.
CREATE FUNCTION ltst_drop_units(whose TEXT, gone UUID[]) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    numbers INTEGER[];
    names TEXT[];
    dropped BIGINT;
BEGIN
    PERFORM FROM search_users WHERE user_id = whose FOR UPDATE;
    DELETE FROM search_due WHERE user_id = whose AND row_id = ANY(gone);
    WITH removed AS (
        DELETE FROM search_units WHERE user_id = whose AND row_id = ANY(gone) RETURNING unit_no, words, speaker)
    SELECT array_agg(unit_no), sum(words), array_agg(speaker) INTO numbers, dropped, names FROM removed;
    IF numbers IS NULL THEN
        RETURN;
    END IF;
    -- Which knows units by their numbers.
    DELETE FROM memory_retrieval_cache WHERE user_id = whose;
    UPDATE search_speakers AS known SET units = known.units - left_out.units
    FROM (SELECT name, count(*) AS units FROM unnest(names) AS name GROUP BY name) AS left_out
    WHERE user_id = whose AND known.name = left_out.name;
    DELETE FROM search_speakers WHERE user_id = whose AND units <= 0;
    DELETE FROM search_vectors WHERE user_id = whose AND unit_no = ANY(numbers);
    WITH kept AS (
        SELECT term, block, cardinality(postings) AS before,
               ARRAY(SELECT posting FROM unnest(postings) WITH ORDINALITY AS each (posting, place)
                     WHERE block * 1024 + (posting & 1023) <> ALL(numbers) ORDER BY place) AS postings
        FROM search_terms
        WHERE user_id = whose AND block = ANY(ARRAY(SELECT DISTINCT number / 1024 FROM unnest(numbers) AS number))
    ), emptied AS (
        DELETE FROM search_terms AS held USING kept
        WHERE held.user_id = whose AND held.term = kept.term AND held.block = kept.block AND kept.postings = '{}')
    UPDATE search_terms AS held SET postings = kept.postings FROM kept
    WHERE held.user_id = whose AND held.term = kept.term AND held.block = kept.block
      AND kept.postings <> '{}' AND cardinality(kept.postings) < kept.before;
    UPDATE search_users SET units = units - cardinality(numbers), words = words - dropped WHERE user_id = whose;
END $$;

-- Indexes rows anew: they say something else, or are called otherwise.
CREATE FUNCTION ltst_index_again(whose TEXT, what TEXT, changed UUID[]) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    PERFORM ltst_drop_units(whose, changed);
    INSERT INTO search_due (user_id, kind, row_id) SELECT whose, what, unnest(changed) ON CONFLICT DO NOTHING;
END $$;

-- Triggers: TG_ARGV names the kind and the key of its table.
CREATE FUNCTION ltst_rows_added() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO search_due (user_id, kind, row_id) SELECT user_id, %L, %I FROM added',
                   TG_ARGV[0], TG_ARGV[1]);
    RETURN NULL;
END $$;

CREATE FUNCTION ltst_rows_removed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    owner TEXT;
    ids UUID[];
BEGIN
    FOR owner, ids IN EXECUTE format(
        'SELECT user_id, array_agg(%I) FROM gone GROUP BY user_id ORDER BY user_id', TG_ARGV[0])
    LOOP
        PERFORM ltst_drop_units(owner, ids);
    END LOOP;
    RETURN NULL;
END $$;

-- A row says something else now.
CREATE FUNCTION ltst_row_rewritten() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    changed UUID;
BEGIN
    EXECUTE format('SELECT ($1).%I', TG_ARGV[1]) INTO changed USING NEW;
    PERFORM ltst_index_again(NEW.user_id, TG_ARGV[0], ARRAY[changed]);
    RETURN NULL;
END $$;

-- A row says the same, but ranks or holds otherwise. One that is no longer to be found, or is again, is indexed anew.
CREATE FUNCTION ltst_row_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    changed UUID;
BEGIN
    EXECUTE format('SELECT ($1).%I', TG_ARGV[1]) INTO changed USING NEW;
    UPDATE search_units AS unit
    SET position = source.position, occurred_at = source.occurred_at, valid_from = source.valid_from,
        valid_until = source.valid_until, expires_at = source.expires_at, retold = source.retold, importance = coalesce(source.importance, 0),
        used_at = source.used_at
    FROM search_sources AS source
    WHERE unit.user_id = NEW.user_id AND unit.row_id = changed
      AND source.user_id = NEW.user_id AND source.kind = TG_ARGV[0] AND source.row_id = changed;
    IF NOT FOUND THEN
        PERFORM ltst_index_again(NEW.user_id, TG_ARGV[0], ARRAY[changed]);
    END IF;
    RETURN NULL;
END $$;

-- A stored vector is of the words that it was made from; one that comes with the new words is theirs. The column is
-- named here and in no trigger's condition: it must be free to be exchanged when the model is changed.
CREATE FUNCTION ltst_forget_vector() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.embedding IS NOT DISTINCT FROM OLD.embedding THEN
        NEW.embedding := NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER rows_added_trigger AFTER INSERT ON user_facts
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_added('fact', 'fact_id');
CREATE TRIGGER rows_added_trigger AFTER INSERT ON memory_entries
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_added('entry', 'entry_id');
CREATE TRIGGER rows_added_trigger AFTER INSERT ON document_chunks
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_added('document', 'chunk_id');
CREATE TRIGGER row_added_trigger AFTER INSERT ON conversation_context
    FOR EACH ROW WHEN (NEW.context_type <> 'working') EXECUTE FUNCTION ltst_row_rewritten('context', 'context_id');

CREATE TRIGGER rows_removed_trigger AFTER DELETE ON conversation_messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('message_id');
CREATE TRIGGER rows_removed_trigger AFTER DELETE ON user_facts
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('fact_id');
CREATE TRIGGER rows_removed_trigger AFTER DELETE ON memory_entries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('entry_id');
CREATE TRIGGER rows_removed_trigger AFTER DELETE ON document_chunks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('chunk_id');
CREATE TRIGGER rows_removed_trigger AFTER DELETE ON conversation_context
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_rows_removed('context_id');

CREATE TRIGGER forget_vector_trigger BEFORE UPDATE OF content ON conversation_messages
    FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION ltst_forget_vector();
CREATE TRIGGER row_rewritten_trigger AFTER UPDATE OF content, role, metadata, timestamp, session_id, message_index
    ON conversation_messages FOR EACH ROW
    WHEN ((OLD.content, OLD.role, OLD.metadata, OLD.timestamp, OLD.session_id, OLD.message_index)
          IS DISTINCT FROM (NEW.content, NEW.role, NEW.metadata, NEW.timestamp, NEW.session_id, NEW.message_index))
    EXECUTE FUNCTION ltst_row_rewritten('message', 'message_id');
CREATE TRIGGER forget_vector_trigger BEFORE UPDATE OF fact_key, fact_value ON user_facts
    FOR EACH ROW WHEN ((OLD.fact_key, OLD.fact_value) IS DISTINCT FROM (NEW.fact_key, NEW.fact_value))
    EXECUTE FUNCTION ltst_forget_vector();
CREATE TRIGGER row_rewritten_trigger AFTER UPDATE OF fact_key, fact_value ON user_facts
    FOR EACH ROW WHEN ((OLD.fact_key, OLD.fact_value) IS DISTINCT FROM (NEW.fact_key, NEW.fact_value))
    EXECUTE FUNCTION ltst_row_rewritten('fact', 'fact_id');
CREATE TRIGGER row_changed_trigger AFTER UPDATE OF valid_from, valid_to, rejected_at, learned ON user_facts
    FOR EACH ROW WHEN ((OLD.valid_from, OLD.valid_to, OLD.rejected_at, OLD.learned)
                       IS DISTINCT FROM (NEW.valid_from, NEW.valid_to, NEW.rejected_at, NEW.learned))
    EXECUTE FUNCTION ltst_row_changed('fact', 'fact_id');
CREATE TRIGGER forget_vector_trigger BEFORE UPDATE OF content ON memory_entries
    FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION ltst_forget_vector();
CREATE TRIGGER row_rewritten_trigger AFTER UPDATE OF content ON memory_entries
    FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION ltst_row_rewritten('entry', 'entry_id');
CREATE TRIGGER row_changed_trigger AFTER UPDATE OF importance_score, last_used, occurred_at, expires_at, learned
    ON memory_entries FOR EACH ROW
    WHEN ((OLD.importance_score, OLD.last_used, OLD.occurred_at, OLD.expires_at, OLD.learned)
          IS DISTINCT FROM (NEW.importance_score, NEW.last_used, NEW.occurred_at, NEW.expires_at, NEW.learned))
    EXECUTE FUNCTION ltst_row_changed('entry', 'entry_id');
CREATE TRIGGER row_changed_trigger AFTER UPDATE OF chunk_index ON document_chunks
    FOR EACH ROW WHEN (OLD.chunk_index <> NEW.chunk_index AND NEW.chunk_index >= 0)
    EXECUTE FUNCTION ltst_row_changed('document', 'chunk_id');
CREATE TRIGGER row_rewritten_trigger AFTER UPDATE OF context_key, context_value ON conversation_context
    FOR EACH ROW WHEN (NEW.context_type <> 'working' AND (OLD.context_key, OLD.context_value)
                       IS DISTINCT FROM (NEW.context_key, NEW.context_value))
    EXECUTE FUNCTION ltst_row_rewritten('context', 'context_id');
CREATE TRIGGER row_changed_trigger AFTER UPDATE OF expires_at ON conversation_context
    FOR EACH ROW WHEN (NEW.context_type <> 'working' AND OLD.context_value = NEW.context_value
                       AND OLD.expires_at IS DISTINCT FROM NEW.expires_at)
    EXECUTE FUNCTION ltst_row_changed('context', 'context_id');

-- Messages are noted where they are counted: every write passes here, so nothing is looked up by name.
CREATE OR REPLACE FUNCTION update_session_length() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    counted RECORD;
    shared UUID;
BEGIN
    FOR counted IN
        SELECT user_id, session_id, count(*) AS added, max(message_index) AS newest_index, max(timestamp) AS newest
        FROM added_messages GROUP BY user_id, session_id ORDER BY user_id, session_id
    LOOP
        UPDATE conversation_sessions
        SET session_length = session_length + counted.added,
            last_index = greatest(last_index, counted.newest_index),
            last_activity = greatest(last_activity, counted.newest),
            status = CASE status WHEN 'archived' THEN 'active' ELSE status END
        WHERE user_id = counted.user_id AND session_id = counted.session_id
        RETURNING adoption_id INTO shared;
        IF shared IS NOT NULL THEN
            PERFORM ltst_number_adopted(counted.user_id, counted.session_id, ARRAY(
                SELECT message_id FROM added_messages
                WHERE user_id = counted.user_id AND session_id = counted.session_id));
        END IF;
    END LOOP;
    INSERT INTO search_due (user_id, kind, row_id)
    SELECT user_id, 'message', message_id FROM added_messages ORDER BY session_id, message_index;
    RETURN NULL;
END $$;

-- Fills the column that a kind keeps its vectors in, and says which rows are there to be filled. A row that somebody
-- else holds is left for the next time. A message that says nothing of its relevance gets its importance.
CREATE FUNCTION ltst_fill_vectors(
    whose TEXT, table_name TEXT, key TEXT, ids UUID[], vectors TEXT[], importances FLOAT[]
) RETURNS SETOF UUID LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'WITH free AS (SELECT user_id, %2$I AS id FROM %1$I WHERE user_id = $1 AND %2$I = ANY($2) '
        '              FOR NO KEY UPDATE SKIP LOCKED), '
        'filled AS (UPDATE %1$I AS kept SET embedding = coalesce(kept.embedding, given.vector::vector) %3$s '
        '           FROM free, unnest($2, $3, $4) AS given (id, vector, importance) '
        '           WHERE kept.user_id = $1 AND kept.%2$I = free.id AND given.id = free.id AND given.vector IS NOT NULL) '
        'SELECT id FROM free', table_name, key,
        CASE WHEN importances IS NULL THEN ''
             ELSE ', relevance_score = CASE kept.relevance_score WHEN 0 THEN given.importance '
                  'ELSE kept.relevance_score END' END)
    USING whose, ids, vectors, coalesce(importances, '{}');
END $$;

-- Everything that is there is due; vectors that are there are taken over, not made again.
INSERT INTO search_due (user_id, kind, row_id, since)
SELECT user_id, 'message', message_id, created_at FROM conversation_messages
UNION ALL SELECT user_id, 'fact', fact_id, recorded_at FROM user_facts
UNION ALL SELECT user_id, 'entry', entry_id, created_at FROM memory_entries
UNION ALL SELECT user_id, 'document', chunk_id, now() FROM document_chunks
UNION ALL SELECT user_id, 'context', context_id, created_at FROM conversation_context WHERE context_type <> 'working';

-- What this takes the place of.
DROP FUNCTION ltst_found(TEXT, UUID[]);
DROP FUNCTION ltst_is_due(TEXT);
DROP FUNCTION ltst_is_written(TEXT);
DROP TRIGGER drop_parts_trigger ON conversation_messages;
DROP TRIGGER drop_parts_trigger ON user_facts;
DROP TRIGGER drop_parts_trigger ON memory_entries;
DROP TRIGGER drop_parts_trigger ON document_chunks;
DROP FUNCTION ltst_drop_parts();
DROP INDEX IF EXISTS idx_embedding_parts_embedding;
DROP TABLE embedding_parts;
DROP TABLE large_users;
DROP INDEX idx_conversation_messages_due;
DROP INDEX idx_user_facts_due;
DROP INDEX idx_memory_entries_due;
DROP INDEX idx_document_chunks_due;
ALTER TABLE conversation_messages DROP COLUMN terms;
ALTER TABLE user_facts DROP COLUMN terms;
ALTER TABLE memory_entries DROP COLUMN terms;
ALTER TABLE document_chunks DROP COLUMN terms;
DELETE FROM memory_retrieval_cache;

-- All that a search asks before it ranks, in one call: which model, what is due, what is cached, and if
-- it has to be looked for: the units, how near they are, and the postings of the question's terms. Of a small memory all
-- units come. Of a larger one the nearest are named: whoever asks chooses among them and the postings, and reads the
-- units by ltst_candidates. Where a narrow filter leaves many, those that hold a term and the nearest come.
CREATE FUNCTION ltst_look(
    whose TEXT, cache TEXT, anyway BOOLEAN, asked_model TEXT, asked_vector REAL[], words TEXT, asked_now TIMESTAMPTZ,
    filters JSONB, every INTEGER, depth INTEGER, most INTEGER,
    OUT model TEXT, OUT source TEXT, OUT dimensions INTEGER, OUT version BIGINT, OUT cached JSONB, OUT due BOOLEAN,
    OUT changing BOOLEAN, OUT looked BOOLEAN, OUT total INTEGER, OUT total_words BIGINT, OUT conversations INTEGER,
    OUT units BYTEA, OUT speakers TEXT[], OUT dense BYTEA, OUT terms TEXT[], OUT blocks INTEGER[], OUT sizes INTEGER[],
    OUT postings BYTEA, OUT nearest INTEGER[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT TIMESTAMPTZ := coalesce(asked_now, statement_timestamp());
    asked_terms CONSTANT TEXT[] := string_to_array(words, ' ');
    kinds CONSTANT TEXT[] := ltst_listed(filters -> 'kinds');
    without CONSTANT BIGINT := filters -> 'without';
    -- Messages are by far the most: without them, what is left is few.
    narrow CONSTANT BOOLEAN := coalesce(filters ?| '{session_id,since,until,equal,ranges,entry_type}'
                                        OR NOT filters -> 'kinds' ? 'message', false);
    known search_users;
    compared VECTOR;
    picked INTEGER[];
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            -- To plan these anew would take longer than to carry them out.
            set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
            -- A plan for every user: to start workers takes longer than most searches, and others' rows are not read.
            set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_seqscan', 'off', true);
    -- From here on the model is not changed, so that the vectors are those of the one that is read now.
    LOCK TABLE search_vectors IN ACCESS SHARE MODE;
    SELECT name, embedding_models.source, embedding_models.dimensions INTO model, source, dimensions
    FROM embedding_models WHERE state = 'active';
    SELECT coalesce(max(event_id), 0) INTO version FROM event_ledger WHERE user_id = whose;
    due := ltst_is_due(whose);
    looked := false;
    IF due AND NOT anyway THEN
        RETURN;
    END IF;
    -- Not where something was due when this search began: what is indexed since need not have had an event.
    IF NOT due AND NOT anyway THEN
        SELECT retrieved_context INTO cached FROM memory_retrieval_cache AS kept
        WHERE user_id = whose AND cache_key = cache AND expires_at > now() AND kept.version = ltst_look.version;
    END IF;
    IF cached IS NOT NULL OR asked_model IS DISTINCT FROM model AND asked_vector IS NOT NULL THEN
        RETURN;
    END IF;
    looked := true;
    -- Asked after the version and before the rest, for which this function is volatile: so a write of a lower number
    -- than the version is either seen here, as not over, or its rows are seen below.
    -- A write shares this lock until it is over: it cannot be had alone while someone writes. Taken and given back in
    -- one expression, which nothing can interrupt.
    changing := NOT CASE WHEN pg_try_advisory_lock(hashtextextended(whose, 2))
                         THEN pg_advisory_unlock(hashtextextended(whose, 2)) ELSE false END;
    compared := asked_vector::vector;
    SELECT * INTO known FROM search_users WHERE user_id = whose;
    total := known.units;
    total_words := known.words;
    IF narrow THEN
        picked := ltst_passing(whose, filters);
        total := cardinality(picked);
        total_words := NULL;
    END IF;
    SELECT array_agg(name) INTO speakers FROM search_speakers WHERE user_id = whose;
    SELECT array_agg(term), array_agg(block), array_agg(cardinality(postings)), string_agg(array_send(postings), ''::bytea)
    INTO terms, blocks, sizes, postings
    FROM search_terms WHERE user_id = whose AND term = ANY(asked_terms);
    IF total > every THEN
        SELECT count(*) INTO conversations FROM conversation_sessions WHERE user_id = whose;
        nearest := ltst_nearest(whose, compared, picked, known.ready, depth);
        IF NOT narrow THEN
            RETURN;
        END IF;
        picked := ltst_beside(ltst_holding(whose, asked_terms, most) || nearest, picked);
    ELSE
        total := NULL;
    END IF;
    IF picked IS NULL THEN
        SELECT string_agg(ranked, ''::bytea) INTO units FROM search_units
        WHERE user_id = whose AND (kinds IS NULL OR kind = ANY(kinds)) AND (valid_from IS NULL OR valid_from <= moment)
          AND (valid_until IS NULL OR valid_until > moment) AND (expires_at IS NULL OR expires_at > now())
          AND (without IS NULL OR said IS DISTINCT FROM without);
        SELECT string_agg(int4send(unit_no) || float4send((1 - (embedding <=> compared))::real), ''::bytea)
        INTO dense FROM search_vectors WHERE user_id = whose AND embedding IS NOT NULL AND compared IS NOT NULL;
    ELSE
        SELECT found.units, found.dense INTO units, dense
        FROM ltst_candidates(whose, picked, model, asked_vector, asked_now, filters) AS found;
    END IF;
END $$;

-- The units of these numbers that pass a filter of kinds and words, and how near each is; without a vector of the model
-- in use, none is near.
CREATE FUNCTION ltst_candidates(
    whose TEXT, picked INTEGER[], asked_model TEXT, asked_vector REAL[], asked_now TIMESTAMPTZ, filters JSONB,
    OUT units BYTEA, OUT dense BYTEA
) LANGUAGE plpgsql AS $$
DECLARE
    moment CONSTANT TIMESTAMPTZ := coalesce(asked_now, statement_timestamp());
    kinds CONSTANT TEXT[] := ltst_listed(filters -> 'kinds');
    without CONSTANT BIGINT := filters -> 'without';
    compared VECTOR;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
            -- A plan for every user: to start workers takes longer than most searches, and others' rows are not read.
            set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_seqscan', 'off', true);
    LOCK TABLE search_vectors IN ACCESS SHARE MODE;
    IF EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = asked_model) THEN
        compared := asked_vector::vector;
    END IF;
    SELECT string_agg(ranked, ''::bytea) INTO units FROM search_units
    WHERE user_id = whose AND unit_no = ANY(picked)
      AND (kinds IS NULL OR kind = ANY(kinds)) AND (valid_from IS NULL OR valid_from <= moment)
      AND (valid_until IS NULL OR valid_until > moment) AND (expires_at IS NULL OR expires_at > now())
      AND (without IS NULL OR said IS DISTINCT FROM without);
    IF compared IS NOT NULL THEN
        SELECT string_agg(int4send(unit_no) || float4send((1 - (embedding <=> compared))::real), ''::bytea)
        INTO dense FROM search_vectors
        WHERE user_id = whose AND unit_no = ANY(picked) AND embedding IS NOT NULL;
    END IF;
END $$;

-- Whether rows of the user lack their words or the vector of the whole, and nobody is at them.
CREATE FUNCTION ltst_is_due(whose TEXT) RETURNS BOOLEAN LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM search_due AS lacking
        WHERE user_id = whose AND stage < 3
          AND NOT EXISTS (SELECT FROM derived_work AS work
                          WHERE work.user_id = whose AND task = 'embed' AND subject = lacking.row_id::text
                            AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now())));
END $$;

-- The texts of a list; null where there is none.
CREATE FUNCTION ltst_listed(list JSONB) RETURNS TEXT[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE WHEN list IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(list)) END;
END $$;

-- The units that pass filters. `ranges` are a key of the metadata, a sign and a bound each.
CREATE FUNCTION ltst_passing(whose TEXT, filters JSONB) RETURNS INTEGER[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    kinds TEXT[] := ltst_listed(filters -> 'kinds');
    since TIMESTAMPTZ := filters ->> 'since';
    until TIMESTAMPTZ := filters ->> 'until';
    named TEXT := filters ->> 'session_id';
    related BOOLEAN := coalesce((filters -> 'related')::boolean, true);
    sessions BIGINT[] := ARRAY(
        SELECT hashtextextended(id, 0) FROM (
            SELECT named AS id
            UNION SELECT target_session_id FROM session_relationships
            WHERE user_id = whose AND source_session_id = named AND related
            UNION SELECT source_session_id FROM session_relationships
            WHERE user_id = whose AND target_session_id = named AND related) AS near);
    passing INTEGER[] := ARRAY(
        SELECT unit_no FROM search_units
        WHERE user_id = whose AND (kinds IS NULL OR kind = ANY(kinds)) AND (named IS NULL OR session = ANY(sessions))
          AND (since IS NULL OR occurred_at >= since) AND (until IS NULL OR occurred_at < until));
BEGIN
    IF NOT filters ?| '{equal,ranges,entry_type}' THEN
        RETURN passing;
    END IF;
    RETURN ARRAY(
        SELECT unit_no FROM search_units JOIN search_sources AS source USING (user_id, row_id)
        WHERE user_id = whose AND unit_no = ANY(passing)
          -- Kinds that have none pass.
          AND (subtype IS NULL OR source.kind <> 'entry' OR NOT filters ? 'entry_type' OR subtype = filters ->> 'entry_type')
          AND metadata @> coalesce(filters -> 'equal', '{}')
          AND NOT EXISTS (
              SELECT FROM (SELECT range ->> 0 AS key, range ->> 1 AS sign, range -> 2 AS value
                           FROM jsonb_array_elements(coalesce(filters -> 'ranges', '[]')) AS range) AS bound
              WHERE NOT coalesce(CASE sign WHEN 'gt' THEN metadata -> key > value WHEN 'gte' THEN metadata -> key >= value
                                           WHEN 'lt' THEN metadata -> key < value WHEN 'lte' THEN metadata -> key <= value
                                 END AND jsonb_typeof(metadata -> key) = jsonb_typeof(value), false)));
END $$;

-- The units nearest to a vector; all are compared, but of users whose vectors the HNSW index holds.
CREATE FUNCTION ltst_nearest(whose TEXT, compared VECTOR, among INTEGER[], by_index BOOLEAN, depth INTEGER)
RETURNS INTEGER[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found INTEGER[];
BEGIN
    IF compared IS NULL THEN
        RETURN '{}';
    END IF;
    IF among IS NOT NULL THEN
        RETURN ARRAY(SELECT unit_no FROM search_vectors WHERE user_id = whose AND unit_no = ANY(among)
                     AND embedding IS NOT NULL ORDER BY embedding <=> compared LIMIT depth);
    END IF;
    IF NOT by_index THEN
        RETURN ARRAY(SELECT unit_no FROM search_vectors WHERE user_id = whose AND embedding IS NOT NULL
                     ORDER BY embedding <=> compared LIMIT depth);
    END IF;
    -- The index goes on until it has found enough rows of the user; without sorting, no other plan is left.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '320', true),
            set_config('hnsw.max_scan_tuples', '1000000', true), set_config('enable_sort', 'off', true);
    EXECUTE 'SELECT ARRAY(SELECT unit_no FROM search_vectors WHERE user_id = $1 AND ann ORDER BY embedding <=> $2 LIMIT $3)'
        INTO found USING whose, compared, depth;
    PERFORM set_config('enable_sort', 'on', true);
    RETURN found;
END $$;

-- The units that hold one of the terms. Where they are very many, the rarest terms alone choose.
CREATE FUNCTION ltst_holding(whose TEXT, asked TEXT[], most INTEGER) RETURNS INTEGER[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT block * 1024 + (posting & 1023)
        FROM (SELECT term, sum(sum(cardinality(postings))) OVER (ORDER BY sum(cardinality(postings)), term) AS so_far
              FROM search_terms WHERE user_id = whose AND term = ANY(asked) GROUP BY term) AS counted
        JOIN search_terms USING (term), unnest(postings) AS posting
        WHERE user_id = whose AND so_far <= most);
END $$;

-- The units of these numbers and those that were indexed right before and after, as turns of a conversation are.
CREATE FUNCTION ltst_beside(numbers INTEGER[], among INTEGER[]) RETURNS INTEGER[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF among IS NULL THEN
        RETURN ARRAY(SELECT DISTINCT number + step FROM unnest(numbers) AS number, generate_series(-2, 2) AS step);
    END IF;
    RETURN ARRAY(SELECT number + step FROM unnest(numbers) AS number, generate_series(-2, 2) AS step
                 INTERSECT SELECT unnest(among));
END $$;

-- What was found, with its words.
CREATE FUNCTION ltst_found(whose TEXT, numbers INTEGER[]) RETURNS TABLE (
    key INTEGER, kind TEXT, id TEXT, content TEXT, occurred_at TIMESTAMPTZ, session_id VARCHAR, role TEXT, said_by TEXT,
    sources TEXT[], trusted BOOLEAN, details JSONB
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    ids UUID[];
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            set_config('plan_cache_mode', 'force_generic_plan', true);
    ids := ARRAY(SELECT row_id FROM search_units WHERE user_id = whose AND unit_no = ANY(numbers));
    RETURN QUERY
    SELECT unit_no, origin.kind, id::text, content, origin.occurred_at, session_id, role, said_by, sources::text[], trusted,
           details
    FROM search_sources AS origin JOIN search_units AS unit USING (user_id, row_id)
    WHERE user_id = whose AND row_id = ANY(ids) AND unit_no = ANY(numbers)
      AND (origin.expires_at IS NULL OR origin.expires_at > now());
END $$;

-- The index goes first: what stands in it need not be taken out row by row.
CREATE OR REPLACE FUNCTION ltst_erase_user(erased TEXT, tables TEXT[])
RETURNS TABLE (table_name TEXT, removed BIGINT, remaining BIGINT) LANGUAGE plpgsql AS $$
DECLARE
    owned TEXT[] := ARRAY(
        SELECT class.relname::text FROM pg_class AS class JOIN pg_attribute AS attribute ON attrelid = class.oid
        WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(tables)
          AND attname = 'user_id' AND NOT attisdropped ORDER BY relname NOT LIKE 'search\_%', relname);
    counts JSONB := '{}';
BEGIN
    -- Every write of the user begins with a share in this lock: they end first, and new ones wait.
    PERFORM pg_advisory_xact_lock(hashtextextended(erased, 2));
    -- Rows written by hand do not know of it; they lock the session first.
    PERFORM FROM conversation_sessions WHERE user_id = erased ORDER BY session_id FOR UPDATE;
    -- Counted before anything is removed, since removing a session removes what hangs on it.
    FOREACH table_name IN ARRAY owned LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', table_name) INTO removed USING erased;
        counts := counts || jsonb_build_object(table_name, removed);
    END LOOP;
    FOREACH table_name IN ARRAY owned LOOP
        EXECUTE format('DELETE FROM %I WHERE user_id = $1', table_name) USING erased;
    END LOOP;
    FOREACH table_name IN ARRAY owned LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE user_id = $1', table_name) INTO remaining USING erased;
        removed := counts ->> table_name;
        RETURN NEXT;
    END LOOP;
END $$;

-- Gives rows units, with their words, as far as they are due as they were read (`sinces`): one that was rewritten since
-- waits for its next reader. A row without a next stage gets no vector. Of each posting, `held` is the place of its row
-- among the ids. Tells how many rows got a unit.
CREATE FUNCTION ltst_add_words(
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
                                  valid_until, expires_at, words, speaker, by_machine, retold, importance, used_at, said)
        SELECT whose, number, kind, row_id, hashtextextended(kind || ' ' || place, 0), position,
               hashtextextended(session_id, 0), occurred_at, valid_from, valid_until, expires_at, length,
               left(said_by, 255), by_machine AND said_by IS NULL, retold, coalesce(importance, 0), used_at,
               -- Rows that are written by hand may have any.
               CASE WHEN content_hash ~ '^[0-9a-f]{16}' THEN ('x' || left(content_hash, 16))::bit(64)::bigint END
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

-- Gives units vectors of the model in use, each by the place of its row among the ids and its part; `left_stages` says
-- what a row still lacks. A row that is being changed or removed is left alone. Tells which rows are done with.
CREATE FUNCTION ltst_add_vectors(
    whose TEXT, made_by TEXT, source_table TEXT, key TEXT, ids UUID[], sinces TIMESTAMPTZ[], left_stages SMALLINT[],
    importances FLOAT[], held INTEGER[], parts SMALLINT[], vectors TEXT[]
) RETURNS SETOF UUID LANGUAGE plpgsql AS $$
DECLARE
    free UUID[];
    whole TEXT[];
BEGIN
    LOCK TABLE search_vectors IN ROW EXCLUSIVE MODE;  -- so that the model is not changed after it is asked for
    IF NOT EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = made_by) THEN
        RETURN;
    END IF;
    free := ARRAY(
        SELECT row_id FROM search_due JOIN unnest(ids, sinces) AS given (id, since) ON row_id = given.id
        WHERE user_id = whose AND row_id = ANY(ids) AND search_due.since = given.since AND stage > 0
        FOR UPDATE OF search_due SKIP LOCKED);
    IF source_table IS NOT NULL THEN
        -- What a long text is stored with is known when all of its parts are; what was rewritten meanwhile gets none.
        SELECT array_agg(CASE WHEN left_stage IS NULL AND given.id = ANY(free) THEN vector END ORDER BY given.place)
        INTO whole
        FROM unnest(ids, left_stages) WITH ORDINALITY AS given (id, left_stage, place)
        LEFT JOIN unnest(held, parts, vectors) AS made (place, part, vector) ON made.place = given.place AND part = 0;
        free := ARRAY(SELECT filled FROM ltst_fill_vectors(whose, source_table, key, ids, whole, importances) AS filled
                      WHERE filled = ANY(free));
    END IF;
    INSERT INTO search_vectors AS known (user_id, unit_no, part, embedding, ann)
    SELECT whose, unit_no, part, vector::vector,
           coalesce((SELECT large FROM search_users WHERE user_id = whose), false)
    FROM unnest(held, parts, vectors) AS made (place, part, vector)
    JOIN unnest(ids) WITH ORDINALITY AS given (id, place) USING (place)
    JOIN search_units ON user_id = whose AND row_id = id
    WHERE id = ANY(free)
    ON CONFLICT (user_id, unit_no, part) DO UPDATE SET embedding = excluded.embedding;
    DELETE FROM search_due USING unnest(ids, left_stages) AS given (id, left_stage)
    WHERE user_id = whose AND row_id = given.id AND row_id = ANY(free) AND left_stage IS NULL;
    UPDATE search_due SET stage = left_stage FROM unnest(ids, left_stages) AS given (id, left_stage)
    WHERE user_id = whose AND row_id = given.id AND row_id = ANY(free) AND left_stage IS NOT NULL;
    RETURN QUERY SELECT unnest(free);
END $$;

-- The vectors that rows are stored with already: copied with a conversation, or given by the caller.
CREATE FUNCTION ltst_known_vectors(whose TEXT, source_table TEXT, key TEXT, ids UUID[])
RETURNS TABLE (id UUID, vector TEXT) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT %2$I, embedding::text FROM %1$I WHERE user_id = $1 AND %2$I = ANY($2) AND embedding IS NOT NULL',
        source_table, key) USING whose, ids;
END $$;
