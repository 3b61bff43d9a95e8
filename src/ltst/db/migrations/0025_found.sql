-- What was found, with its words. Most of it is messages, and a plan that need not look for other kinds is begun sooner.
CREATE OR REPLACE FUNCTION ltst_found(whose TEXT, numbers INTEGER[]) RETURNS TABLE (
    key INTEGER, kind TEXT, id TEXT, content TEXT, occurred_at TIMESTAMPTZ, session_id VARCHAR, role TEXT, said_by TEXT,
    sources TEXT[], trusted BOOLEAN, details JSONB
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    ids UUID[];
    units INTEGER[];
    said BOOLEAN;
BEGIN
    PERFORM set_config('ltst.user_id', whose, true), set_config('role', 'ltst_user', true),
            set_config('plan_cache_mode', 'force_generic_plan', true);
    SELECT array_agg(row_id), array_agg(unit_no), bool_and(kind = 'message') INTO ids, units, said
    FROM search_units WHERE user_id = whose AND unit_no = ANY(numbers);
    IF said THEN
        RETURN QUERY
        SELECT unit_no, origin.kind, id::text, content, origin.occurred_at, session_id, role, said_by, sources::text[],
               trusted, details
        FROM search_sources AS origin JOIN unnest(units, ids) AS unit (unit_no, row_id) USING (row_id)
        WHERE user_id = whose AND row_id = ANY(ids) AND origin.kind = 'message';
    ELSE
        RETURN QUERY
        SELECT unit_no, origin.kind, id::text, content, origin.occurred_at, session_id, role, said_by, sources::text[],
               trusted, details
        FROM search_sources AS origin JOIN unnest(units, ids) AS unit (unit_no, row_id) USING (row_id)
        WHERE user_id = whose AND row_id = ANY(ids) AND (origin.expires_at IS NULL OR origin.expires_at > now());
    END IF;
END $$;
