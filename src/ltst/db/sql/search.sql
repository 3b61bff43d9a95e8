-- name: due
SELECT kind, id, content, role, said_by, title, occurred_at, heading,
       EXISTS (SELECT FROM derived_work AS work
               WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = id::text) AS failed
FROM (
    (SELECT 'message' AS kind, message_id AS id, content, role,
            coalesce(metadata ->> 'speaker', metadata ->> 'name') AS said_by,
            (SELECT session_name FROM conversation_sessions AS session
             WHERE session.user_id = message.user_id AND session.session_id = message.session_id) AS title,
            timestamp AS occurred_at, NULL AS heading
     FROM conversation_messages AS message
     WHERE user_id = %(user_id)s AND (terms IS NULL OR embedding IS NULL AND NOT %(terms_only)s::boolean)
       AND message_id <> ALL(%(skip)s::uuid[])
       AND NOT EXISTS (SELECT FROM derived_work AS work
                       WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = message_id::text
                         AND (set_aside_at IS NOT NULL OR leased_until > now()
                              OR leased_until IS NOT NULL AND NOT %(careful)s::boolean
                              OR not_before > now() AND NOT %(terms_only)s::boolean))
     ORDER BY created_at DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT 'fact', fact_id, fact_key || ': ' || fact_value, NULL, NULL, NULL, valid_from, NULL
     FROM user_facts
     WHERE user_id = %(user_id)s AND (terms IS NULL OR embedding IS NULL AND NOT %(terms_only)s::boolean)
       AND fact_id <> ALL(%(skip)s::uuid[])
       AND NOT EXISTS (SELECT FROM derived_work AS work
                       WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = fact_id::text
                         AND (set_aside_at IS NOT NULL OR leased_until > now()
                              OR leased_until IS NOT NULL AND NOT %(careful)s::boolean
                              OR not_before > now() AND NOT %(terms_only)s::boolean))
     LIMIT %(limit)s)
    UNION ALL
    (SELECT 'entry', entry_id, content, NULL, NULL, NULL, occurred_at, NULL
     FROM memory_entries
     WHERE user_id = %(user_id)s AND (terms IS NULL OR embedding IS NULL AND NOT %(terms_only)s::boolean)
       AND entry_id <> ALL(%(skip)s::uuid[])
       AND NOT EXISTS (SELECT FROM derived_work AS work
                       WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = entry_id::text
                         AND (set_aside_at IS NOT NULL OR leased_until > now()
                              OR leased_until IS NOT NULL AND NOT %(careful)s::boolean
                              OR not_before > now() AND NOT %(terms_only)s::boolean))
     LIMIT %(limit)s)
    UNION ALL
    (SELECT 'document', chunk_id, content, NULL, NULL,
            (SELECT title FROM documents AS document
             WHERE document.user_id = chunk.user_id AND document.document_id = chunk.document_id), NULL,
            metadata ->> 'heading'
     FROM document_chunks AS chunk
     WHERE user_id = %(user_id)s AND (terms IS NULL OR embedding IS NULL AND NOT %(terms_only)s::boolean)
       AND chunk_id <> ALL(%(skip)s::uuid[])
       AND NOT EXISTS (SELECT FROM derived_work AS work
                       WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = chunk_id::text
                         AND (set_aside_at IS NOT NULL OR leased_until > now()
                              OR leased_until IS NOT NULL AND NOT %(careful)s::boolean
                              OR not_before > now() AND NOT %(terms_only)s::boolean))
     LIMIT %(limit)s)
) AS due
LIMIT %(limit)s;

-- name: index_messages
UPDATE conversation_messages AS row
SET terms = given.terms::tsvector, embedding = coalesce(row.embedding, CASE WHEN model.same THEN given.embedding::vector END),
    ann = EXISTS (SELECT FROM large_users WHERE user_id = %(user_id)s),
    relevance_score = CASE row.relevance_score WHEN 0 THEN given.importance ELSE row.relevance_score END
FROM unnest(%(ids)s::uuid[], %(embeddings)s::text[], %(terms)s::text[], %(importances)s::float[])
         AS given (id, embedding, terms, importance),
     (SELECT EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s) AS same) AS model
WHERE row.user_id = %(user_id)s AND row.message_id = given.id AND (row.terms IS NULL OR row.embedding IS NULL)
RETURNING row.message_id;

-- name: index_facts
UPDATE user_facts AS row
SET terms = given.terms::tsvector, embedding = coalesce(row.embedding, CASE WHEN model.same THEN given.embedding::vector END)
FROM unnest(%(ids)s::uuid[], %(embeddings)s::text[], %(terms)s::text[]) AS given (id, embedding, terms),
     (SELECT EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s) AS same) AS model
WHERE row.user_id = %(user_id)s AND row.fact_id = given.id AND (row.terms IS NULL OR row.embedding IS NULL)
RETURNING row.fact_id;

-- name: index_entries
UPDATE memory_entries AS row
SET terms = given.terms::tsvector, embedding = coalesce(row.embedding, CASE WHEN model.same THEN given.embedding::vector END)
FROM unnest(%(ids)s::uuid[], %(embeddings)s::text[], %(terms)s::text[]) AS given (id, embedding, terms),
     (SELECT EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s) AS same) AS model
WHERE row.user_id = %(user_id)s AND row.entry_id = given.id AND (row.terms IS NULL OR row.embedding IS NULL)
RETURNING row.entry_id;

-- name: index_documents
UPDATE document_chunks AS row
SET terms = given.terms::tsvector, embedding = coalesce(row.embedding, CASE WHEN model.same THEN given.embedding::vector END)
FROM unnest(%(ids)s::uuid[], %(embeddings)s::text[], %(terms)s::text[]) AS given (id, embedding, terms),
     (SELECT EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s) AS same) AS model
WHERE row.user_id = %(user_id)s AND row.chunk_id = given.id AND (row.terms IS NULL OR row.embedding IS NULL)
RETURNING row.chunk_id;

-- name: add_parts
INSERT INTO embedding_parts (user_id, owner_id, part_index, embedding, ann)
SELECT %(user_id)s::text, owner, part, embedding::vector, EXISTS (SELECT FROM large_users WHERE user_id = %(user_id)s)
FROM unnest(%(owners)s::uuid[], %(parts)s::integer[], %(embeddings)s::text[]) AS given (owner, part, embedding)
WHERE EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s)
ON CONFLICT (user_id, owner_id, part_index) DO UPDATE SET embedding = EXCLUDED.embedding;

-- name: model
SELECT name, dimensions, source FROM embedding_models WHERE state = 'active';

-- name: add_model
INSERT INTO embedding_models (name, dimensions, source) VALUES (%(name)s, %(dimensions)s::integer, %(source)s)
ON CONFLICT DO NOTHING;

-- name: state
SELECT model.name AS model, model.source, model.dimensions,
       EXISTS (SELECT FROM large_users WHERE user_id = %(user_id)s AND ready) AS large, memory.version,
       ltst_is_due(%(user_id)s) AS due,
       (SELECT retrieved_context FROM memory_retrieval_cache AS cache
        WHERE user_id = %(user_id)s AND cache_key = %(cache_key)s AND expires_at > now()
          AND cache.version = memory.version) AS cached
FROM (SELECT coalesce(max(event_id), 0) AS version FROM event_ledger WHERE user_id = %(user_id)s) AS memory
LEFT JOIN embedding_models AS model ON model.state = 'active';

-- Scores of everything that passes the filters, each unit packed into a few bytes: what is to be ranked is the whole
-- memory of the user, and thousands of rows would take longer to read than to find. Users with a very large memory get
-- those that hold a term, and the nearest by the index.
-- name: candidates
WITH asked AS MATERIALIZED (
    SELECT %(queries)s::tsquery[] AS queries, %(any_query)s::tsquery AS any_query,
           EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s) AS same_model,
           ARRAY(SELECT %(session_id)s::text WHERE %(session_id)s::text IS NOT NULL
                 UNION SELECT target_session_id FROM session_relationships
                 WHERE user_id = %(user_id)s AND source_session_id = %(session_id)s AND %(related)s::boolean
                 UNION SELECT source_session_id FROM session_relationships
                 WHERE user_id = %(user_id)s AND target_session_id = %(session_id)s AND %(related)s::boolean) AS near
), nearest AS MATERIALIZED (
    SELECT ARRAY(SELECT message_id FROM conversation_messages
                 WHERE %(large)s::boolean AND user_id = %(user_id)s AND ann AND (SELECT same_model FROM asked)
                 ORDER BY embedding <=> %(vector)s::vector LIMIT %(depth)s)
        || ARRAY(SELECT owner_id FROM embedding_parts
                 WHERE %(large)s::boolean AND user_id = %(user_id)s AND ann AND (SELECT same_model FROM asked)
                 ORDER BY embedding <=> %(vector)s::vector LIMIT %(depth)s) AS ids
), owned AS (
    SELECT 0 AS kind, message_id AS id, session_id AS place, message_index AS position, timestamp AS occurred_at,
           coalesce(metadata ->> 'speaker', metadata ->> 'name') AS said_by, role <> 'human' AS by_machine,
           metadata, terms, embedding, 0::float AS strength, metadata @> '{"retold": true}' AS retold,
           coalesce(content_hash = %(echo)s::text, false) AS echo
    FROM conversation_messages, asked, nearest
    WHERE user_id = %(user_id)s AND 'message' = ANY(%(kinds)s::text[])
      AND (%(session_id)s::text IS NULL OR session_id = ANY(asked.near))
      AND (%(without)s::text IS NULL OR content_hash IS DISTINCT FROM %(without)s::text)
      AND (NOT %(large)s::boolean OR message_id = ANY(nearest.ids) OR terms @@ asked.any_query)
    UNION ALL
    SELECT 1, fact_id, fact_id::text, 0, valid_from, NULL, false, metadata, terms, embedding, 0, learned,
           false
    FROM user_facts
    WHERE user_id = %(user_id)s AND 'fact' = ANY(%(kinds)s::text[]) AND %(session_id)s::text IS NULL
      AND rejected_at IS NULL AND valid_from <= coalesce(%(now)s::timestamptz, statement_timestamp())
      AND (valid_to IS NULL OR valid_to > coalesce(%(now)s::timestamptz, statement_timestamp()))
    UNION ALL
    SELECT 2, entry_id, entry_id::text, 0, occurred_at, NULL, false, metadata, terms, embedding,
           -- What is important and was used of late comes first among its like; it halves in half a year.
           -- Within bounds: what is all but nothing, many centuries ago, is too small for a number.
           greatest(importance_score, 1e-9) * power(0.5::float8, least(100, greatest(0, extract(epoch FROM
               coalesce(%(now)s::timestamptz, now()) - greatest(last_used, occurred_at))) / 15552000)::float8), learned,
           false
    FROM memory_entries, asked
    WHERE user_id = %(user_id)s AND 'entry' = ANY(%(kinds)s::text[])
      AND (%(entry_type)s::text IS NULL OR memory_type = %(entry_type)s)
      AND (expires_at IS NULL OR expires_at > now())
      AND (%(session_id)s::text IS NULL OR session_id = ANY(asked.near))
    UNION ALL
    SELECT 3, chunk_id, document_id::text, chunk_index, document.created_at, NULL, false, document.metadata, terms,
           embedding, 0, false, false
    FROM document_chunks JOIN documents AS document USING (user_id, document_id)
    WHERE user_id = %(user_id)s AND 'document' = ANY(%(kinds)s::text[]) AND %(session_id)s::text IS NULL
), parts AS MATERIALIZED (
    SELECT owner_id, max(nullif(1 - (embedding <=> %(vector)s::vector), 'NaN')) AS dense
    FROM embedding_parts, asked, nearest
    WHERE user_id = %(user_id)s AND asked.same_model
      AND (NOT %(large)s::boolean OR owner_id = ANY(nearest.ids))
    GROUP BY owner_id
), units AS (
    SELECT kind, id, place, position, occurred_at, said_by, by_machine, strength, retold, echo,
           coalesce(length(terms), 0) AS words, coalesce(terms @@ %(answer)s::tsquery, false) AS answers,
           -- Compared only if it is of the same model as the question's.
           greatest(CASE WHEN asked.same_model THEN nullif(1 - (embedding <=> %(vector)s::vector), 'NaN') END,
                    parts.dense) AS dense,
           CASE WHEN terms @@ asked.any_query THEN ARRAY[
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[1]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[2]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[3]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[4]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[5]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[6]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[7]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[8]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[9]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[10]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[11]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[12]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[13]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[14]), 0),
               coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[15]), 0), coalesce(ts_rank('{1,1,1,1}', terms, asked.queries[16]), 0)
           ]::real[] END AS ranks
    FROM asked, owned LEFT JOIN parts ON parts.owner_id = owned.id
    WHERE (%(since)s::timestamptz IS NULL OR occurred_at >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR occurred_at < %(until)s)
      AND (%(equal)s::jsonb = '{}' OR metadata @> %(equal)s::jsonb)
      AND (%(range_keys)s::text[] = '{}' OR NOT EXISTS (
          SELECT FROM unnest(%(range_keys)s::text[], %(range_signs)s::text[], %(range_values)s::jsonb[])
              AS range (key, sign, value)
          WHERE NOT coalesce(CASE sign WHEN 'gt' THEN metadata -> key > value WHEN 'gte' THEN metadata -> key >= value
                                       WHEN 'lt' THEN metadata -> key < value WHEN 'lte' THEN metadata -> key <= value
                             END AND jsonb_typeof(metadata -> key) = jsonb_typeof(value), false)))
    OFFSET 0  -- or the ranks would be computed anew wherever they are used below
)
-- Both columns are gathered in one pass, so that the units with ranks come in the order of the ranks.
SELECT string_agg(uuid_send(id) || int8send(hashtextextended(place, kind)) || timestamptz_send(occurred_at)
                  || int4send(coalesce(hashtext(said_by), 0)) || int4send(position)
                  -- In brackets: << does not bind closer than | here.
                  || int4send((retold::integer << 30) | (echo::integer << 29) | (answers::integer << 28)
                              | (least(words, 500000) << 9)
                              | ((127 * strength)::integer << 2)
                              | ((by_machine AND said_by IS NULL)::integer << 1) | (ranks IS NOT NULL)::integer)
                  || float4send(coalesce(dense, -2)::real), ''::bytea) AS units,
       string_agg(array_send(ranks), ''::bytea) FILTER (WHERE ranks IS NOT NULL) AS ranks,
       jsonb_object_agg(said_by, hashtext(said_by)) FILTER (WHERE said_by IS NOT NULL) AS speakers,
       (SELECT same_model FROM asked) AS same_model,
       CASE WHEN %(large)s::boolean
            THEN (SELECT sum(session_length) FROM conversation_sessions WHERE user_id = %(user_id)s) END AS messages,
       CASE WHEN %(large)s::boolean
            THEN (SELECT count(*) FROM conversation_sessions WHERE user_id = %(user_id)s) END AS sessions
FROM units;

-- The messages nearest to a question by their vectors; of users with a very large memory by the index. `whole` tells
-- that a message fits into one part, so that the model can read it again as it is.
-- name: nearest_messages
SELECT session_id, role, content, message_type, message_index, parent_message_id, metadata, relevance_score,
       is_context_message, timestamp, message_id, user_id, content_hash, context_hash, message_key, token_count, created_at,
       embedding::real[] AS embedding, 1 - (embedding <=> %(vector)s::vector) AS similarity,
       NOT EXISTS (SELECT FROM embedding_parts AS part
                   WHERE part.user_id = message.user_id AND owner_id = message_id) AS whole
FROM conversation_messages AS message
WHERE user_id = %(user_id)s AND embedding IS NOT NULL
  AND (%(session_id)s::text IS NULL OR session_id = %(session_id)s)
  AND (NOT %(large)s::boolean OR ann)
  AND EXISTS (SELECT FROM embedding_models WHERE state = 'active' AND name = %(model)s)
ORDER BY embedding <=> %(vector)s::vector
LIMIT %(limit)s;

-- name: hits
SELECT * FROM ltst_found(%(user_id)s, %(keys)s::uuid[]);

-- name: large
SELECT EXISTS (SELECT FROM large_users WHERE user_id = %(user_id)s) AS begun,
       EXISTS (SELECT FROM large_users WHERE user_id = %(user_id)s AND ready) AS ready,
       (SELECT coalesce(sum(session_length), 0) FROM conversation_sessions WHERE user_id = %(user_id)s)
       + (SELECT count(*) FROM embedding_parts WHERE user_id = %(user_id)s) AS vectors;

-- name: begin_large
INSERT INTO large_users (user_id)
SELECT %(user_id)s::text WHERE EXISTS (SELECT FROM conversation_messages WHERE user_id = %(user_id)s)
ON CONFLICT DO NOTHING;

-- name: mark_messages
WITH marked AS (
    UPDATE conversation_messages SET ann = true
    WHERE user_id = %(user_id)s AND message_id = ANY(ARRAY(
        SELECT message_id FROM conversation_messages
        WHERE user_id = %(user_id)s AND message_id > %(after)s::uuid AND NOT ann AND embedding IS NOT NULL
        ORDER BY message_id LIMIT %(limit)s))
    RETURNING message_id)
SELECT message_id FROM marked ORDER BY message_id DESC LIMIT 1;

-- name: mark_parts
WITH marked AS (
    UPDATE embedding_parts SET ann = true
    WHERE user_id = %(user_id)s AND owner_id = ANY(ARRAY(
        SELECT DISTINCT owner_id FROM embedding_parts
        WHERE user_id = %(user_id)s AND owner_id > %(after)s::uuid AND NOT ann
        ORDER BY owner_id LIMIT %(limit)s))
    RETURNING owner_id)
SELECT owner_id FROM marked ORDER BY owner_id DESC LIMIT 1;

-- name: finish_large
UPDATE large_users SET ready = true WHERE user_id = %(user_id)s;

-- name: vectors
SELECT message_id AS id, embedding::real[] AS vector FROM conversation_messages
WHERE user_id = %(user_id)s AND message_id = ANY(%(ids)s::uuid[]) AND embedding IS NOT NULL;
