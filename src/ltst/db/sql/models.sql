-- name: active
SELECT name, dimensions, source FROM embedding_models WHERE state = 'active';

-- name: add
INSERT INTO embedding_models (name, dimensions, source) VALUES (%(name)s, %(dimensions)s::integer, %(source)s)
ON CONFLICT DO NOTHING;

-- name: numbered
SELECT name, dimensions, number FROM embedding_models WHERE state = %(state)s;

-- The first model of a database has the number 1, also where another one begins to follow before there is one.
-- name: free_number
SELECT coalesce(max(number), 1) + 1 FROM embedding_models;

-- name: begin
INSERT INTO embedding_models (name, dimensions, source, state, number)
VALUES (%(name)s, %(dimensions)s::integer, %(source)s, 'next', %(number)s::smallint);

-- name: give_up
UPDATE embedding_models SET state = 'former' WHERE state = 'next';

-- name: forget_former
DELETE FROM embedding_models WHERE state = 'former';

-- name: left
SELECT count(*) FROM search_units AS unit
WHERE vectored
  AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id AND made.unit_no = unit.unit_no
                  AND part = 0 AND model = %(number)s::smallint);

-- What was filled before the last row is not read again.
-- name: unfilled
WITH unit AS MATERIALIZED (
    SELECT user_id, unit_no, kind, row_id FROM search_units AS unit
    WHERE (user_id, unit_no) > (%(after_user)s::text, %(after_unit)s::integer) AND vectored
      AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id
                      AND made.unit_no = unit.unit_no AND part = 0 AND model = %(number)s::smallint
                      AND (made.user_id, made.unit_no) > (%(after_user)s::text, %(after_unit)s::integer))
    ORDER BY user_id, unit_no LIMIT %(limit)s)
SELECT unit.user_id, unit_no, unit.kind, unit.row_id::text AS id, content, role, said_by, title,
       source.occurred_at, heading
FROM unit JOIN search_sources AS source
  ON source.user_id = unit.user_id AND source.row_id = unit.row_id AND source.kind = unit.kind
WHERE source.user_id = ANY(ARRAY(SELECT user_id FROM unit)) AND source.row_id = ANY(ARRAY(SELECT row_id FROM unit))
ORDER BY unit.user_id, unit_no;

-- A unit that is gone meanwhile gets none. Whoever removes one waits, so that its vectors are seen and removed, too.
-- name: fill
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(users)s::text[], %(units)s::integer[], %(parts)s::smallint[], %(vectors)s::text[])
        AS given (user_id, unit_no, part, vector)
), unit AS MATERIALIZED (
    SELECT user_id, unit_no FROM search_units
    WHERE (user_id, unit_no) IN (SELECT user_id, unit_no FROM given) FOR KEY SHARE SKIP LOCKED)
INSERT INTO search_vectors (user_id, unit_no, part, model, embedding, ann)
SELECT user_id, unit_no, part, %(number)s::smallint, l2_normalize(vector::vector)::halfvec,
       coalesce((SELECT large FROM search_users WHERE search_users.user_id = given.user_id), false)
FROM given JOIN unit USING (user_id, unit_no)
ON CONFLICT (user_id, unit_no, part, model) DO UPDATE SET embedding = EXCLUDED.embedding;

-- name: mark_due
INSERT INTO search_due (user_id, kind, row_id, stage)
SELECT user_id, kind, row_id, CASE WHEN by_machine OR kind = 'document' THEN 2 ELSE 1 END FROM search_units AS unit
WHERE vectored
  AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id AND made.unit_no = unit.unit_no
                  AND part = 0 AND model = %(number)s::smallint)
ON CONFLICT DO NOTHING;

-- Some after a row, all of a row at once.
-- name: remove
WITH gone AS (
    DELETE FROM search_vectors AS old
    USING (SELECT user_id, unit_no FROM search_vectors
           WHERE (user_id, unit_no) > (%(after_user)s::text, %(after_unit)s::integer) AND model = %(number)s::smallint
           ORDER BY user_id, unit_no LIMIT %(limit)s) AS found
    WHERE old.user_id = found.user_id AND old.unit_no = found.unit_no AND model = %(number)s::smallint
    RETURNING old.user_id, old.unit_no)
SELECT user_id, unit_no FROM gone ORDER BY user_id DESC, unit_no DESC LIMIT 1;
