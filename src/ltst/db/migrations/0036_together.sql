-- What a search reads of a user lies together, in indexes that begin with the user: in the tables, the rows of users who
-- talk at the same time alternate, and each would cost a page. Of pages that were written to since the last vacuum, rows
-- are still read there, so vacuums come early.

-- In the order in which searches lock them.
LOCK TABLE search_vectors, search_units IN ACCESS EXCLUSIVE MODE;
ALTER TABLE search_units DROP CONSTRAINT search_units_pkey;
ALTER TABLE search_units ADD CONSTRAINT search_units_pkey PRIMARY KEY (user_id, unit_no)
    INCLUDE (kind, row_id, session, occurred_at, valid_from, valid_until, expires_at, said, ranked);
ALTER TABLE search_units SET (autovacuum_vacuum_insert_scale_factor = 0.01);

-- Only directions are compared, for which numbers of two bytes are as good. Vectors of length one have none too large.
DROP INDEX IF EXISTS idx_search_vectors_embedding;
DROP INDEX IF EXISTS idx_search_vectors_embedding_next;
ALTER TABLE search_vectors RENAME COLUMN embedding TO whole;
ALTER TABLE search_vectors ADD COLUMN embedding HALFVEC(384);
CREATE INDEX idx_search_vectors_embedding ON search_vectors
    USING hnsw (embedding halfvec_cosine_ops) WITH (ef_construction = 200) WHERE ann;
CREATE INDEX idx_search_vectors_near ON search_vectors (user_id, unit_no) INCLUDE (embedding);
-- Another model may have longer vectors, for which `vectors.py` says which indexes there are; and a change of the model
-- may be under way. A vector of 2 kB would be read from another table, unless it is kept in its row (PLAIN), which must
-- fit into a page with both.
DO $$
DECLARE
    length INTEGER;
    next_length INTEGER;
    changes TEXT;
BEGIN
    SELECT max(atttypmod) FILTER (WHERE attname = 'whole'),
           coalesce(max(atttypmod) FILTER (WHERE attname = 'embedding_next'), 0)
    INTO length, next_length
    FROM pg_attribute WHERE attrelid = 'search_vectors'::regclass AND NOT attisdropped;
    IF length > 800 THEN
        DROP INDEX idx_search_vectors_near;
    END IF;
    IF length > 4000 THEN
        DROP INDEX idx_search_vectors_embedding;
    END IF;
    changes := format('ALTER COLUMN whole TYPE boolean USING NULL, ALTER COLUMN embedding TYPE halfvec(%1$s) '
                      'USING l2_normalize(whole)::halfvec(%1$s)', length);
    IF (length >= 900 OR next_length > 0) AND length + next_length <= 3600 THEN
        changes := changes || ', ALTER COLUMN embedding SET STORAGE PLAIN';
    END IF;
    IF next_length > 0 THEN
        changes := changes || format(', ALTER COLUMN embedding_next TYPE halfvec(%1$s) '
                                     'USING l2_normalize(embedding_next)::halfvec(%1$s)', next_length);
    END IF;
    IF next_length BETWEEN 1 AND 3600 THEN
        changes := changes || ', ALTER COLUMN embedding_next SET STORAGE PLAIN';
    END IF;
    EXECUTE 'ALTER TABLE search_vectors ' || changes;
END $$;
ALTER TABLE search_vectors DROP COLUMN whole;
ALTER TABLE search_vectors SET (autovacuum_vacuum_insert_scale_factor = 0.01);

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
    compared HALFVEC;
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

CREATE OR REPLACE FUNCTION ltst_candidates(
    whose TEXT, picked INTEGER[], asked_model TEXT, asked_vector REAL[], asked_now TIMESTAMPTZ, filters JSONB,
    OUT units BYTEA, OUT dense BYTEA
) LANGUAGE plpgsql AS $$
DECLARE
    moment CONSTANT TIMESTAMPTZ := coalesce(asked_now, statement_timestamp());
    kinds CONSTANT TEXT[] := ltst_listed(filters -> 'kinds');
    without CONSTANT BIGINT := filters -> 'without';
    compared HALFVEC;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
            -- A plan for every user: to start workers takes longer than most searches, and others' rows are not read.
            set_config('max_parallel_workers_per_gather', '0', true), set_config('enable_seqscan', 'off', true);
    LOCK TABLE search_vectors IN ACCESS SHARE MODE;
    IF EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = asked_model) THEN
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
        WHERE user_id = whose AND unit_no = ANY(picked) AND embedding IS NOT NULL;
    END IF;
END $$;

DROP FUNCTION ltst_nearest(TEXT, VECTOR, INTEGER[], BOOLEAN, INTEGER);
CREATE FUNCTION ltst_nearest(whose TEXT, compared HALFVEC, among INTEGER[], by_index BOOLEAN, depth INTEGER)
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

CREATE OR REPLACE FUNCTION ltst_add_vectors(
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
    SELECT whose, unit_no, part, l2_normalize(vector::vector)::halfvec,
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
