-- name: due
SELECT * FROM ltst_due(%(user_id)s, %(first)s::smallint, %(last)s::smallint, %(skip)s::uuid[], %(careful)s, %(limit)s);

-- name: lacks
SELECT EXISTS (
    SELECT FROM search_due
    WHERE user_id = %(user_id)s AND stage BETWEEN 1 AND %(last)s::smallint
      AND NOT EXISTS (SELECT FROM derived_work AS work
                      WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = search_due.row_id::text
                        AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now())));

-- name: is_due
SELECT ltst_is_due(%(user_id)s);

-- name: still_due
SELECT row_id::text
FROM search_due JOIN unnest(%(ids)s::uuid[], %(sinces)s::timestamptz[]) AS given (id, since) ON row_id = given.id
WHERE user_id = %(user_id)s AND row_id = ANY(%(ids)s::uuid[]) AND search_due.since = given.since
FOR UPDATE OF search_due SKIP LOCKED;

-- name: drop_due
DELETE FROM search_due WHERE user_id = %(user_id)s AND row_id = ANY(%(ids)s::uuid[]);

-- name: add_words
SELECT ltst_add_words(%(user_id)s, %(ids)s::uuid[], %(sinces)s::timestamptz[], %(stages)s::smallint[],
                      %(lengths)s::integer[], %(tells)s::real[], %(relevances)s::float[],
                      %(held)s::integer[], string_to_array(%(terms)s, ' '), %(counts)s::integer[]);

-- The vectors that messages came with.
-- name: known_vectors
SELECT message_id::text AS id, ltst_of_the_model(embedding, created_at)::text AS vector FROM conversation_messages
WHERE user_id = %(user_id)s AND message_id = ANY(%(ids)s::uuid[])
  AND ltst_of_the_model(embedding, created_at) IS NOT NULL;

-- name: add_vectors
SELECT ltst_add_vectors(%(user_id)s, %(model)s, %(ids)s::uuid[], %(sinces)s::timestamptz[], %(stages)s::smallint[],
                        %(held)s::integer[], %(parts)s::smallint[], %(vectors)s::text[])::text;

-- name: holders
SELECT term::text, sum(cardinality(postings))::integer AS units,
       coalesce((SELECT units FROM search_users WHERE user_id = %(user_id)s), 0)::integer AS total
FROM search_terms
WHERE user_id = %(user_id)s AND term = ANY(%(terms)s::text[])
GROUP BY term;

-- name: look
SELECT * FROM ltst_look(%(user_id)s, %(cache_key)s, %(anyway)s, %(model)s, %(vector)s, %(terms)s, %(now)s, %(filters)s,
                        %(every)s, %(depth)s, %(most)s);

-- name: candidates
SELECT * FROM ltst_candidates(%(user_id)s, %(numbers)s::integer[], %(model)s, %(vector)s, %(now)s, %(filters)s);

-- name: newest
SELECT unit_no FROM search_units
WHERE user_id = %(user_id)s AND unit_no = ANY((SELECT ltst_passing(%(user_id)s, %(filters)s::jsonb))::integer[])
  AND (valid_from IS NULL OR valid_from <= %(now)s) AND (valid_until IS NULL OR valid_until > %(now)s)
  AND (expires_at IS NULL OR expires_at > now())
  AND (NOT %(filters)s::jsonb ? 'without' OR said IS DISTINCT FROM (%(filters)s::jsonb -> 'without')::bigint)
ORDER BY occurred_at DESC NULLS LAST, unit_no DESC
LIMIT %(limit)s;

-- name: found
SELECT * FROM ltst_found(%(user_id)s, %(numbers)s::integer[]);

-- The messages nearest to a question by their vectors. `whole` tells that a message fits into one part, so that the
-- model can read it again as it is.
-- name: nearest_messages
SELECT message.session_id, message.role, message.content, message_type, message_index, parent_message_id,
       message.metadata, relevance_score, is_context_message, timestamp, message_id, message.user_id,
       message.content_hash, context_hash, message_key, token_count, created_at,
       coalesce(ltst_of_the_model(message.embedding, created_at)::real[], nearest.embedding::real[]) AS embedding,
       nearest.similarity,
       NOT EXISTS (SELECT FROM search_vectors AS part
                   WHERE part.user_id = message.user_id AND part.unit_no = nearest.unit_no AND part.part > 0
                     AND part.model = nearest.model)
       AND NOT EXISTS (SELECT FROM search_due AS due
                       WHERE due.user_id = message.user_id AND due.row_id = nearest.row_id AND stage = 3) AS whole
FROM (
    SELECT unit_no, row_id, model, embedding, 1 - (embedding <=> asked) AS similarity
    FROM (SELECT number, l2_normalize(%(vector)s::vector)::halfvec AS asked FROM embedding_models
          WHERE state = 'active' AND name = %(model)s) AS question,
         row_vectors
    WHERE user_id = %(user_id)s AND kind = 'message'
      AND (%(session_id)s::text IS NULL OR session = hashtextextended(%(session_id)s, 0))
      AND (NOT %(large)s::boolean
           OR unit_no = ANY((SELECT ltst_nearest(%(user_id)s, number, asked, NULL, true, %(limit)s))::integer[]))
    ORDER BY embedding <=> asked
    LIMIT %(limit)s
) AS nearest
JOIN conversation_messages AS message ON message.user_id = %(user_id)s AND message_id = nearest.row_id
ORDER BY nearest.similarity DESC;

-- name: large
SELECT coalesce(bool_or(large), false) AS begun, coalesce(bool_or(ready), false) AS ready,
       coalesce(sum(units), 0) AS units
FROM search_users WHERE user_id = %(user_id)s;

-- name: vectored
SELECT count(*) FROM search_units WHERE user_id = %(user_id)s AND vectored;

-- name: begin_large
UPDATE search_users SET large = true WHERE user_id = %(user_id)s;

-- name: mark_large
WITH marked AS (
    UPDATE search_vectors SET ann = true
    WHERE user_id = %(user_id)s AND unit_no > %(after)s::integer AND unit_no <= %(after)s::integer + %(amount)s::integer
      AND NOT ann
)
SELECT max(unit_no) FROM search_units
WHERE user_id = %(user_id)s AND unit_no > %(after)s::integer + %(amount)s::integer;

-- name: finish_large
UPDATE search_users SET ready = true WHERE user_id = %(user_id)s;

-- name: vectors
SELECT row_id::text AS id, embedding::real[] AS vector FROM row_vectors
WHERE user_id = %(user_id)s AND row_id = ANY(%(ids)s::uuid[]);
