-- name: list
SELECT known.user_id, sessions.count AS sessions, sessions.messages, sessions.last_activity
FROM ltst_users(%(after)s, %(limit)s::integer, %(tables)s::text[]) AS known (user_id)
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS count, coalesce(sum(session_length), 0)::bigint AS messages,
           max(last_activity) AS last_activity
    FROM conversation_sessions AS session WHERE session.user_id = known.user_id
) AS sessions
ORDER BY known.user_id;
