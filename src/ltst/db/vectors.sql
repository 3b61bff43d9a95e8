-- The statements of vectors.py.

-- name: unfilled
WITH unit AS MATERIALIZED (
        SELECT user_id, unit_no, kind, row_id FROM search_units AS unit
        WHERE (user_id, unit_no) > (%s::text, %s::integer) AND vectored
          AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id
                          AND made.unit_no = unit.unit_no AND part = 0 AND embedding_next IS NOT NULL)
        ORDER BY user_id, unit_no LIMIT %s)
    SELECT unit.user_id, unit_no, unit.kind, unit.row_id::text AS id, content, role, said_by, title,
           source.occurred_at, heading
    FROM unit JOIN search_sources AS source
      ON source.user_id = unit.user_id AND source.row_id = unit.row_id AND source.kind = unit.kind
    WHERE source.user_id = ANY(ARRAY(SELECT user_id FROM unit)) AND source.row_id = ANY(ARRAY(SELECT row_id FROM unit))
    ORDER BY unit.user_id, unit_no

-- name: fill_entries
UPDATE memory_entries AS entry SET embedding_next = given.embedding::vector
    FROM unnest(%s::text[], %s::uuid[], %s::text[]) AS given (user_id, id, embedding)
    WHERE entry.user_id = given.user_id AND entry.entry_id = given.id

-- A unit that is gone meanwhile gets none. Whoever removes one waits, so that its vectors are seen and removed, too.
-- name: fill_units
WITH given AS MATERIALIZED (
        SELECT * FROM unnest(%s::text[], %s::integer[], %s::smallint[], %s::text[]) AS given (user_id, unit_no, part, vector)
    ), unit AS MATERIALIZED (
        SELECT user_id, unit_no FROM search_units
        WHERE (user_id, unit_no) IN (SELECT user_id, unit_no FROM given) FOR KEY SHARE SKIP LOCKED)
    INSERT INTO search_vectors (user_id, unit_no, part, embedding_next, ann)
    SELECT user_id, unit_no, part, vector::halfvec,
           coalesce((SELECT large FROM search_users WHERE search_users.user_id = given.user_id), false)
    FROM given JOIN unit USING (user_id, unit_no)
    ON CONFLICT (user_id, unit_no, part) DO UPDATE SET embedding_next = EXCLUDED.embedding_next

-- name: left
SELECT count(*) FROM search_units AS unit
    WHERE vectored
      AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id
                      AND made.unit_no = unit.unit_no AND part = 0 AND embedding_next IS NOT NULL)

-- An entry that was rewritten after the last round has got the vector of its old words.
-- name: forget_rewritten
UPDATE memory_entries AS entry SET embedding = NULL FROM search_due AS due
    WHERE due.user_id = entry.user_id AND due.row_id = entry.entry_id AND embedding IS NOT NULL

-- What was indexed after the last round waits for its vector, as if it were new.
-- name: due_again
INSERT INTO search_due (user_id, kind, row_id, stage)
    SELECT user_id, kind, row_id, CASE WHEN by_machine OR kind = 'document' THEN 2 ELSE 1 END FROM search_units AS unit
    WHERE vectored
      AND NOT EXISTS (SELECT FROM search_vectors AS made
                      WHERE made.user_id = unit.user_id AND made.unit_no = unit.unit_no AND part = 0)
    ON CONFLICT DO NOTHING
