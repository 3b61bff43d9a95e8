-- A unit knows how much it tells, and how much of that something said later took the place of.

ALTER TABLE search_units
    DROP COLUMN ranked,
    -- How likely a message of a person says something lasting; less than nothing where it only asks.
    ADD COLUMN tells REAL NOT NULL DEFAULT 0.5,
    -- The share of a message's statements that no longer hold.
    ADD COLUMN outdated REAL NOT NULL DEFAULT 0;
ALTER TABLE search_units ADD COLUMN ranked BYTEA NOT NULL GENERATED ALWAYS AS (
    int4send(unit_no) || int8send(place) || int4send(position) || timestamptz_send(occurred_at) || int4send(words)
    || int4send(coalesce(('x' || left(md5(speaker), 8))::bit(32)::integer, 0)) || boolsend(by_machine) || boolsend(retold) || float4send(importance)
    || timestamptz_send(coalesce(used_at, occurred_at)) || int8send(coalesce(said, 0)) || float4send(tells) || float4send(outdated)) STORED;

CREATE FUNCTION ltst_outdated(whose TEXT, message UUID) RETURNS REAL LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT avg(CASE WHEN superseded_at IS NULL THEN 0 ELSE 1 END)
        FROM statements WHERE user_id = whose AND message_id = message AND rejected_at IS NULL), 0);
END $$;

-- What a message states counts less where it was superseded, and in full where it holds again.
CREATE FUNCTION ltst_statement_moved() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE search_units SET outdated = ltst_outdated(NEW.user_id, NEW.message_id)
    WHERE user_id = NEW.user_id AND row_id = NEW.message_id;
    RETURN NULL;
END $$;
CREATE TRIGGER statement_moved_trigger AFTER UPDATE OF superseded_at, rejected_at ON statements
    FOR EACH ROW WHEN ((OLD.superseded_at, OLD.rejected_at) IS DISTINCT FROM (NEW.superseded_at, NEW.rejected_at))
    EXECUTE FUNCTION ltst_statement_moved();

-- A message whose sentences are read later states more than what was superseded of it.
CREATE FUNCTION ltst_statements_added() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE search_units AS unit SET outdated = ltst_outdated(unit.user_id, unit.row_id)
    FROM added WHERE unit.user_id = added.user_id AND unit.row_id = added.message_id AND unit.outdated > 0;
    RETURN NULL;
END $$;
CREATE TRIGGER statements_added_trigger AFTER INSERT ON statements
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ltst_statements_added();

-- The same as before, with what each row tells.
DROP FUNCTION ltst_add_words(TEXT, UUID[], TIMESTAMPTZ[], SMALLINT[], INTEGER[], INTEGER[], TEXT[], INTEGER[]);
CREATE FUNCTION ltst_add_words(
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
    WHERE user_id = whose AND row_id = given.id AND due.since = given.since AND stage = 0 AND next_stage IS NULL;
    UPDATE search_due AS due SET stage = next_stage
    FROM unnest(ids, sinces, next_stages) AS given (id, since, next_stage)
    WHERE user_id = whose AND row_id = given.id AND due.since = given.since AND stage = 0;
    RETURN found;
END $$;
