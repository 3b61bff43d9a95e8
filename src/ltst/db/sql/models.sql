-- name: get
SELECT name, dimensions, source, number FROM embedding_models WHERE state = %(state)s;

-- name: add
INSERT INTO embedding_models (name, dimensions, source) VALUES (%(name)s, %(dimensions)s::integer, %(source)s)
ON CONFLICT DO NOTHING;

-- The first model of a database has the number 1, also where another one begins to follow before there is one.
-- name: free_number
SELECT coalesce(max(number), 1) + 1 FROM embedding_models;

-- name: begin
INSERT INTO embedding_models (name, dimensions, source, state, number)
VALUES (%(name)s, %(dimensions)s::integer, %(source)s, 'next', %(number)s::smallint);

-- The time by the server's clock, which Citus does not let an UPDATE ask for.
-- name: moment
SELECT clock_timestamp();

-- Whoever asks for it holds it until the end of the transaction.
-- name: following
SELECT number FROM embedding_models WHERE state = 'next' FOR UPDATE;

-- name: retire
UPDATE embedding_models SET state = 'former' WHERE state = 'active';

-- name: promote
UPDATE embedding_models SET state = 'active', since = %(since)s WHERE state = 'next';

-- name: give_up
UPDATE embedding_models SET state = 'former' WHERE state = 'next';

-- name: forget_former
DELETE FROM embedding_models WHERE state = 'former' AND number = %(number)s::smallint;

-- name: left
SELECT count(*) FROM search_units AS unit
WHERE vectored
  AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id AND made.unit_no = unit.unit_no
                  AND part = 0 AND model = %(number)s::smallint);

-- The last of so many units after one; none where fewer are left.
-- name: last_of_window
SELECT user_id, unit_no FROM search_units
WHERE (user_id, unit_no) > (%(after_user)s::text, %(after_unit)s::integer)
ORDER BY user_id, unit_no OFFSET %(amount)s::integer - 1 LIMIT 1;

-- Of so many units after one: the first few that lack a vector. A planner that takes few to lack one would read them all.
-- name: unfilled
WITH nearby AS MATERIALIZED (
    SELECT user_id, unit_no, kind, row_id, vectored FROM search_units
    WHERE (user_id, unit_no) > (%(after_user)s::text, %(after_unit)s::integer)
    ORDER BY user_id, unit_no LIMIT %(amount)s
), unit AS MATERIALIZED (
    SELECT user_id, unit_no, kind, row_id FROM nearby
    WHERE vectored
      AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = nearby.user_id
                      AND made.unit_no = nearby.unit_no AND part = 0 AND model = %(number)s::smallint)
    ORDER BY user_id, unit_no LIMIT %(limit)s)
SELECT unit.user_id, unit_no, unit.kind, unit.row_id::text AS id, content, role, said_by, title,
       source.occurred_at, heading
FROM unit JOIN search_sources AS source
  ON source.user_id = unit.user_id AND source.row_id = unit.row_id AND source.kind = unit.kind
WHERE source.user_id = ANY(ARRAY(SELECT user_id FROM unit)) AND source.row_id = ANY(ARRAY(SELECT row_id FROM unit))
ORDER BY unit.user_id, unit_no;

-- A unit that is gone meanwhile gets none. Whoever removes one waits, so that its vectors are seen and removed, too. Nor
-- is there any for a model that was given up meanwhile.
-- name: fill
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(users)s::text[], %(units)s::integer[], %(ids)s::uuid[], %(parts)s::smallint[],
                         %(vectors)s::text[]) AS given (user_id, unit_no, row_id, part, vector)
), unit AS MATERIALIZED (
    SELECT user_id, unit_no FROM search_units
    WHERE (user_id, unit_no, row_id) IN (SELECT user_id, unit_no, row_id FROM given) FOR KEY SHARE SKIP LOCKED)
INSERT INTO search_vectors (user_id, unit_no, part, model, embedding, ann)
SELECT user_id, unit_no, part, number, l2_normalize(vector::vector)::halfvec,
       coalesce((SELECT large FROM search_users WHERE search_users.user_id = given.user_id), false)
FROM given JOIN unit USING (user_id, unit_no), embedding_models
WHERE state = 'next' AND number = %(number)s::smallint
ON CONFLICT (user_id, unit_no, part, model) DO UPDATE SET embedding = EXCLUDED.embedding;

-- Not units that are being removed or rewritten: those need none, or are due by themselves.
-- name: mark_due
INSERT INTO search_due (user_id, kind, row_id, stage)
SELECT user_id, kind, row_id, CASE WHEN by_machine OR kind = 'document' THEN 2 ELSE 1 END FROM search_units AS unit
WHERE vectored
  AND NOT EXISTS (SELECT FROM search_vectors AS made WHERE made.user_id = unit.user_id AND made.unit_no = unit.unit_no
                  AND part = 0 AND model = %(number)s::smallint)
FOR KEY SHARE OF unit SKIP LOCKED
ON CONFLICT DO NOTHING;

-- The next ones after a unit; a unit loses all of its vectors at once.
-- name: remove
WITH gone AS (
    DELETE FROM search_vectors AS old
    USING (SELECT user_id, unit_no FROM search_vectors
           WHERE (user_id, unit_no) > (%(after_user)s::text, %(after_unit)s::integer) AND model = %(number)s::smallint
           ORDER BY user_id, unit_no LIMIT %(limit)s) AS found
    WHERE old.user_id = found.user_id AND old.unit_no = found.unit_no AND model = %(number)s::smallint
    RETURNING old.user_id, old.unit_no)
SELECT user_id, unit_no FROM gone ORDER BY user_id DESC, unit_no DESC LIMIT 1;
