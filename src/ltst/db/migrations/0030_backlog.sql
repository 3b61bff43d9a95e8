-- A large backlog: what an import leaves to be indexed is not read whole for each few rows of it.

-- In the order in which it is worked off: the newest first within a stage.
DROP INDEX idx_search_due_stage;
CREATE INDEX idx_search_due_stage ON search_due (user_id, stage, since DESC);

-- The same as before, with due rows looked up by their keys: of a table that has just grown the planner does not know its
-- size, and compared all that is due with each row.
CREATE OR REPLACE FUNCTION ltst_add_words(
    whose TEXT, ids UUID[], sinces TIMESTAMPTZ[], next_stages SMALLINT[], lengths INTEGER[], tells REAL[],
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
                                  vectored, tells, outdated)
        SELECT whose, number, kind, row_id, hashtextextended(place, 0), position,
               hashtextextended(session_id, 0), occurred_at, valid_from, valid_until, expires_at, length,
               left(said_by, 255), by_machine AND said_by IS NULL, retold, coalesce(importance, 0), used_at,
               -- Rows that are written by hand may have any.
               CASE WHEN content_hash ~ '^[0-9a-f]{16}' THEN ('x' || left(content_hash, 16))::bit(64)::bigint END,
               vectored, told, CASE kind WHEN 'message' THEN ltst_outdated(whose, row_id) ELSE 0 END
        FROM search_sources JOIN unnest(ids, numbers, lengths, tells) AS given (id, number, length, told) ON given.id = row_id
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
