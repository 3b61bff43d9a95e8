-- What lacks its words (stage 0) or vectors, with what they are made from; `content` is null where the row is gone. A
-- function, so that it is planned once in a connection: to plan it takes several times as long as to carry it out, and it
-- is asked in every search after something was written.
CREATE FUNCTION ltst_due(
    whose TEXT, first_stage SMALLINT, last_stage SMALLINT, skip UUID[], careful BOOLEAN, most INTEGER
) RETURNS TABLE (
    kind TEXT, id TEXT, stage SMALLINT, since TIMESTAMPTZ, content TEXT, role TEXT, said_by TEXT, title TEXT,
    occurred_at TIMESTAMPTZ, heading TEXT, by_machine BOOLEAN, vectored BOOLEAN, failed BOOLEAN
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true);
    RETURN QUERY
    WITH lacking AS MATERIALIZED (
        SELECT kind, row_id, stage, since FROM search_due
        WHERE user_id = whose AND stage BETWEEN first_stage AND last_stage AND row_id <> ALL(skip)
          AND (stage = 0 OR NOT EXISTS (
              SELECT FROM derived_work AS work
              WHERE work.user_id = whose AND task = 'embed' AND subject = search_due.row_id::text
                AND (set_aside_at IS NOT NULL OR leased_until > now() OR not_before > now()
                     OR leased_until IS NOT NULL AND NOT careful)))
        ORDER BY stage, since DESC
        LIMIT most
    ), source AS MATERIALIZED (
        -- Looked up by these keys: joined, everything that the user owns would be read; and once, not for each of them.
        SELECT kind, row_id, content, role, said_by, title, occurred_at, heading, by_machine, vectored
        FROM search_sources WHERE user_id = whose AND row_id = ANY(ARRAY(SELECT row_id FROM lacking))
    )
    SELECT lacking.kind, lacking.row_id::text, stage, since, content, role, said_by, title, occurred_at, heading,
           coalesce(by_machine, false), coalesce(vectored, true),
           EXISTS (SELECT FROM derived_work AS work
                   WHERE work.user_id = whose AND task = 'embed' AND subject = lacking.row_id::text)
    FROM lacking LEFT JOIN source ON source.row_id = lacking.row_id AND source.kind = lacking.kind
    ORDER BY stage, since DESC;
END $$;
