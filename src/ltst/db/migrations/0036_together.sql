-- What a search reads of a user lies together, in indexes that begin with the user: in the tables, the rows of users who
-- talk at the same time alternate, and each would cost a page. Of pages that were written to since the last vacuum, rows
-- are still read there, so vacuums come early.

-- In the order in which searches lock them.
LOCK TABLE search_vectors, search_units IN ACCESS EXCLUSIVE MODE;
ALTER TABLE search_units DROP CONSTRAINT search_units_pkey;
ALTER TABLE search_units ADD CONSTRAINT search_units_pkey PRIMARY KEY (user_id, unit_no)
    INCLUDE (kind, row_id, session, occurred_at, valid_from, valid_until, expires_at, said, ranked);
ALTER TABLE search_units SET (autovacuum_vacuum_insert_scale_factor = 0.01);

-- Each vector tells by which model it was made. While the model is being changed, a unit has vectors of both, and searches
-- read those of the model in use; a change that was under way begins anew.
ALTER TABLE embedding_models ADD COLUMN number SMALLINT NOT NULL DEFAULT 1;
ALTER TABLE embedding_models DROP CONSTRAINT embedding_models_state_check;
ALTER TABLE embedding_models ADD CONSTRAINT embedding_models_state_check CHECK (state IN ('active', 'next', 'former'));
DELETE FROM embedding_models WHERE state = 'next';
DROP INDEX IF EXISTS idx_conversation_messages_embedding_next;
ALTER TABLE conversation_messages DROP COLUMN IF EXISTS embedding_next;
ALTER TABLE user_facts DROP COLUMN IF EXISTS embedding_next;
ALTER TABLE memory_entries DROP COLUMN IF EXISTS embedding_next;
ALTER TABLE document_chunks DROP COLUMN IF EXISTS embedding_next;

-- Only directions are compared, for which numbers of two bytes are as good. Vectors of length one have none too large.
-- A vector of 2 kB would be read from another table, unless rows may fill a page.
DROP INDEX IF EXISTS idx_search_vectors_embedding;
DROP INDEX IF EXISTS idx_search_vectors_embedding_next;
ALTER TABLE search_vectors DROP COLUMN IF EXISTS embedding_next;
ALTER TABLE search_vectors NO FORCE ROW LEVEL SECURITY;  -- policies hide the rows from the owner
DELETE FROM search_vectors WHERE embedding IS NULL;
ALTER TABLE search_vectors FORCE ROW LEVEL SECURITY;
ALTER TABLE search_vectors DROP CONSTRAINT search_vectors_pkey;
ALTER TABLE search_vectors RENAME COLUMN embedding TO whole;
ALTER TABLE search_vectors ADD COLUMN model SMALLINT NOT NULL DEFAULT 1;
ALTER TABLE search_vectors ADD COLUMN embedding HALFVEC;
ALTER TABLE search_vectors SET (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.01);
ALTER TABLE search_vectors ADD CONSTRAINT search_vectors_pkey PRIMARY KEY (user_id, unit_no, part, model);
CREATE INDEX idx_search_vectors_near ON search_vectors (user_id, model, unit_no) INCLUDE (embedding);
CREATE INDEX idx_search_vectors_embedding_1 ON search_vectors
    USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (ef_construction = 200) WHERE ann AND model = 1;
-- The model may have vectors of another length, for which `vectors.py` says which indexes there are.
DO $$
DECLARE
    length CONSTANT INTEGER := (SELECT dimensions FROM embedding_models WHERE state = 'active');
BEGIN
    IF length > 800 THEN
        DROP INDEX idx_search_vectors_near;
    END IF;
    IF length <> 384 THEN
        DROP INDEX idx_search_vectors_embedding_1;
    END IF;
    IF length <> 384 AND length <= 4000 THEN
        EXECUTE format('CREATE INDEX idx_search_vectors_embedding_1 ON search_vectors USING hnsw ((embedding::halfvec(%s)) '
                       'halfvec_cosine_ops) WITH (ef_construction = 200) WHERE ann AND model = 1', length);
    END IF;
END $$;
ALTER TABLE search_vectors ALTER COLUMN whole TYPE boolean USING NULL,
    ALTER COLUMN embedding TYPE halfvec USING l2_normalize(whole)::halfvec, ALTER COLUMN embedding SET NOT NULL;
ALTER TABLE search_vectors DROP COLUMN whole;

CREATE OR REPLACE FUNCTION ltst_look(
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
    model_no SMALLINT;
    compared HALFVEC;
    picked INTEGER[];
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            -- To plan these anew would take longer than to carry them out.
            set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
            -- A plan for every user: to start workers takes longer than most searches, and others' rows are not read.
            set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_seqscan', 'off', true);
    -- From here on no vectors of a model that is given up are removed, so that those of the one that is read now stay.
    LOCK TABLE search_vectors IN ACCESS SHARE MODE;
    SELECT name, embedding_models.source, embedding_models.dimensions, number INTO model, source, dimensions, model_no
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
    compared := l2_normalize(asked_vector::vector)::halfvec;
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
        nearest := ltst_nearest(whose, model_no, compared, picked, known.ready, depth);
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
        INTO dense FROM search_vectors AS made
        WHERE user_id = whose AND made.model = model_no AND compared IS NOT NULL;
    ELSE
        SELECT found.units, found.dense INTO units, dense
        FROM ltst_candidates(whose, picked, model, asked_vector, asked_now, filters) AS found;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION ltst_candidates(
    whose TEXT, picked INTEGER[], asked_model TEXT, asked_vector REAL[], asked_now TIMESTAMPTZ, filters JSONB,
    OUT units BYTEA, OUT dense BYTEA
) LANGUAGE plpgsql AS $$
DECLARE
    moment CONSTANT TIMESTAMPTZ := coalesce(asked_now, statement_timestamp());
    kinds CONSTANT TEXT[] := ltst_listed(filters -> 'kinds');
    without CONSTANT BIGINT := filters -> 'without';
    model_no SMALLINT;
    compared HALFVEC;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
            -- A plan for every user: to start workers takes longer than most searches, and others' rows are not read.
            set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_seqscan', 'off', true);
    LOCK TABLE search_vectors IN ACCESS SHARE MODE;
    SELECT number INTO model_no FROM embedding_models WHERE state = 'active' AND name = asked_model;
    IF FOUND THEN
        compared := l2_normalize(asked_vector::vector)::halfvec;
    END IF;
    SELECT string_agg(ranked, ''::bytea) INTO units FROM search_units
    WHERE user_id = whose AND unit_no = ANY(picked)
      AND (kinds IS NULL OR kind = ANY(kinds)) AND (valid_from IS NULL OR valid_from <= moment)
      AND (valid_until IS NULL OR valid_until > moment) AND (expires_at IS NULL OR expires_at > now())
      AND (without IS NULL OR said IS DISTINCT FROM without);
    IF compared IS NOT NULL THEN
        SELECT string_agg(int4send(unit_no) || float4send((1 - (embedding <=> compared))::real), ''::bytea)
        INTO dense FROM search_vectors
        WHERE user_id = whose AND model = model_no AND unit_no = ANY(picked);
    END IF;
END $$;

DROP FUNCTION ltst_nearest(TEXT, VECTOR, INTEGER[], BOOLEAN, INTEGER);
CREATE FUNCTION ltst_nearest(
    whose TEXT, model_no SMALLINT, compared HALFVEC, among INTEGER[], by_index BOOLEAN, depth INTEGER
) RETURNS INTEGER[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found INTEGER[];
BEGIN
    IF compared IS NULL THEN
        RETURN '{}';
    END IF;
    IF among IS NOT NULL THEN
        RETURN ARRAY(SELECT unit_no FROM search_vectors WHERE user_id = whose AND model = model_no AND unit_no = ANY(among)
                     ORDER BY embedding <=> compared LIMIT depth);
    END IF;
    IF NOT by_index THEN
        RETURN ARRAY(SELECT unit_no FROM search_vectors WHERE user_id = whose AND model = model_no
                     ORDER BY embedding <=> compared LIMIT depth);
    END IF;
    -- The index goes on until it has found enough rows of the user; without sorting, no other plan is left. Each model has
    -- an index of its own, which is recognised by what it is made of.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '320', true),
            set_config('hnsw.max_scan_tuples', '1000000', true), set_config('enable_sort', 'off', true);
    EXECUTE format('SELECT ARRAY(SELECT unit_no FROM search_vectors WHERE user_id = $1 AND ann AND model = %1$s '
                   'ORDER BY embedding::halfvec(%2$s) <=> $2 LIMIT $3)', model_no, vector_dims(compared))
        INTO found USING whose, compared, depth;
    PERFORM set_config('enable_sort', 'on', true);
    RETURN found;
END $$;

-- The vector of each row that has one, by the model in use.
CREATE VIEW row_vectors WITH (security_invoker = true) AS
SELECT unit.user_id, unit.unit_no, unit.kind, unit.row_id, unit.session, vector.model, vector.embedding
FROM search_units AS unit JOIN search_vectors AS vector ON vector.user_id = unit.user_id AND vector.unit_no = unit.unit_no
WHERE part = 0 AND model = (SELECT number FROM embedding_models WHERE state = 'active');
GRANT SELECT ON row_vectors TO ltst_user, ltst_keeper;

-- The vector of a statement: its own, or that of the message that it is the whole of.
CREATE OR REPLACE FUNCTION ltst_statement_vector(whose TEXT, statement UUID, message UUID) RETURNS VECTOR
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT embedding FROM row_vectors
            WHERE user_id = whose AND row_id = CASE
                      WHEN EXISTS (SELECT FROM search_units WHERE user_id = whose AND row_id = statement AND NOT vectored)
                      THEN message ELSE statement END);
END $$;
