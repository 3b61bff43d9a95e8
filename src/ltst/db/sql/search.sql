-- name: messages
SELECT session_id, role, content, message_type, message_index, parent_message_id, metadata, relevance_score,
       is_context_message, timestamp, message_id, user_id, content_hash, context_hash, message_key, token_count, created_at,
       matched.similarity
FROM (
    SELECT message.*,
           cardinality(ARRAY(SELECT unnest(asked.terms) INTERSECT
               SELECT unnest(tsvector_to_array(to_tsvector('english', substr(message.content, start, 100000))))
               FROM generate_series(1, length(message.content), 100000) AS start))::float
           / cardinality(asked.terms) AS similarity
    FROM conversation_messages AS message,
         -- In slices: a tsvector of a long text could be larger than Postgres allows.
         (SELECT ARRAY(SELECT DISTINCT unnest(tsvector_to_array(to_tsvector('english', substr(%(query)s, start, 100000))))
                       FROM generate_series(1, length(%(query)s), 100000) AS start) AS terms) AS asked
    WHERE message.user_id = %(user_id)s AND message.session_id = %(session_id)s AND cardinality(asked.terms) > 0
) AS matched
WHERE matched.similarity > 0 AND matched.similarity >= %(threshold)s::float
ORDER BY matched.similarity DESC, matched.timestamp DESC
LIMIT %(limit)s;
