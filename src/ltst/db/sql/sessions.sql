-- columns: session
session_id, user_id, session_name, session_type, status, metadata, context_summary, relevance_score, session_length,
created_at, last_activity, agent_name

-- Of a session that is there, what is given changes: nothing, no metadata, a score of 0 and the usual type are not.
-- name: put
INSERT INTO conversation_sessions (
    user_id, session_id, session_name, session_type, status, agent_name, metadata, context_summary,
    relevance_score, created_at, last_activity)
VALUES (%(user_id)s, %(session_id)s, %(session_name)s, %(session_type)s, %(status)s, %(agent_name)s,
        %(metadata)s::jsonb, %(context_summary)s, %(relevance_score)s::float,
        %(created_at)s::timestamptz, %(last_activity)s::timestamptz)
ON CONFLICT (user_id, session_id) DO UPDATE
SET session_name = coalesce(excluded.session_name, conversation_sessions.session_name), status = excluded.status,
    session_type = coalesce(nullif(excluded.session_type, 'conversation'), conversation_sessions.session_type),
    agent_name = coalesce(excluded.agent_name, conversation_sessions.agent_name),
    metadata = coalesce(nullif(excluded.metadata, '{}'), conversation_sessions.metadata),
    context_summary = coalesce(excluded.context_summary, conversation_sessions.context_summary),
    relevance_score = coalesce(nullif(excluded.relevance_score, 0), conversation_sessions.relevance_score),
    last_activity = excluded.last_activity
RETURNING {session};

-- name: get
SELECT {session}
FROM conversation_sessions
WHERE user_id = %(user_id)s AND session_id = %(session_id)s;

-- name: list
SELECT {session}
FROM conversation_sessions
WHERE user_id = %(user_id)s AND (%(status)s::text IS NULL OR status = %(status)s)
  AND (%(prefix)s::text IS NULL OR starts_with(session_id, %(prefix)s))
  AND (%(type)s::text IS NULL OR session_type = %(type)s)
  AND metadata @> %(equal)s::jsonb
  AND NOT EXISTS (
      SELECT FROM (SELECT range ->> 0 AS key, range ->> 1 AS sign, range -> 2 AS value
                   FROM jsonb_array_elements(%(ranges)s::jsonb) AS range) AS bound
      WHERE NOT coalesce(CASE sign WHEN 'gt' THEN metadata -> key > value WHEN 'gte' THEN metadata -> key >= value
                                   WHEN 'lt' THEN metadata -> key < value WHEN 'lte' THEN metadata -> key <= value
                         END AND jsonb_typeof(metadata -> key) = jsonb_typeof(value), false))
ORDER BY last_activity DESC, session_id
LIMIT %(limit)s OFFSET %(offset)s;

-- The name of each conversation, or if it has none, with what its user's first message begins.
-- name: titles
SELECT session.session_id, session.session_name AS name, first.words
FROM conversation_sessions AS session
LEFT JOIN LATERAL (
    SELECT left(message.content, 400) AS words
    FROM conversation_messages AS message
    WHERE message.user_id = %(user_id)s AND message.session_id = session.session_id AND message.role = 'human'
    ORDER BY message.message_index
    LIMIT 1) AS first ON session.session_name IS NULL
WHERE session.user_id = %(user_id)s AND session.session_id = ANY(%(session_ids)s::text[]);

-- name: delete
DELETE FROM conversation_sessions WHERE user_id = %(user_id)s AND session_id = %(session_id)s;

-- name: set_status
UPDATE conversation_sessions SET status = %(status)s
WHERE user_id = %(user_id)s AND session_id = %(session_id)s
RETURNING {session};

-- name: touch
UPDATE conversation_sessions SET last_activity = %(at)s::timestamptz
WHERE user_id = %(user_id)s AND session_id = %(session_id)s;

-- name: summary
SELECT session_id, session_name, session_type, status, created_at, last_activity, message_count, human_messages,
       ai_messages, system_messages, tool_messages, token_count, first_message_time AS first_message_at,
       last_message_time AS last_message_at, avg_message_relevance AS average_relevance
FROM session_summary
WHERE user_id = %(user_id)s AND session_id = %(session_id)s;

-- name: owners
SELECT user_id FROM conversation_sessions WHERE session_id = %(session_id)s LIMIT 2;

-- The first and the last of all who have sessions, each by one look at the index.
-- name: users
SELECT DISTINCT user_id
FROM (SELECT min(user_id) AS user_id FROM conversation_sessions
      UNION ALL SELECT max(user_id) FROM conversation_sessions) AS ends
WHERE user_id IS NOT NULL;

-- Sought from the policies on, since most users have none, and by the day of a session's last activity: OFFSET keeps the
-- planner from reading the sessions of all users instead.
-- name: archive_due
WITH resting AS MATERIALIZED (
    SELECT user_id, session_id, %(now)s::timestamptz - archive_after AS before
    FROM (SELECT user_id, min(archive_after) AS soonest FROM retention_policies GROUP BY user_id) AS owner
    JOIN LATERAL (
        SELECT session_id, session_type FROM conversation_sessions AS session
        WHERE session.user_id = owner.user_id AND status = 'active'
          AND last_day <= ((%(now)s::timestamptz - soonest) AT TIME ZONE 'UTC')::date
        OFFSET 0
    ) AS session ON true
    JOIN LATERAL (
        SELECT archive_after FROM retention_policies AS policy
        WHERE policy.user_id = owner.user_id AND policy.session_type IN (session.session_type, '*')
        ORDER BY policy.session_type = '*' LIMIT 1
    ) AS policy ON true
), due AS (
    SELECT session.user_id, session.session_id
    FROM resting JOIN conversation_sessions AS session USING (user_id, session_id)
    WHERE session.status = 'active' AND session.last_activity < resting.before
    ORDER BY session.user_id, session.session_id
    FOR NO KEY UPDATE OF session SKIP LOCKED
), archived AS (
    UPDATE conversation_sessions AS session SET status = 'archived'
    FROM due WHERE session.user_id = due.user_id AND session.session_id = due.session_id
    RETURNING session.user_id, session.session_id
)
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
SELECT user_id, 'maintenance', 'archive', 'session', session_id FROM archived;

-- name: delete_due
WITH ended AS MATERIALIZED (
    SELECT user_id, session_id, %(now)s::timestamptz - delete_after AS before
    FROM (SELECT user_id, min(delete_after) AS soonest FROM retention_policies GROUP BY user_id) AS owner
    JOIN LATERAL (
        SELECT session_id, session_type FROM conversation_sessions AS session
        WHERE session.user_id = owner.user_id
          AND last_day <= ((%(now)s::timestamptz - soonest) AT TIME ZONE 'UTC')::date
        OFFSET 0
    ) AS session ON true
    JOIN LATERAL (
        SELECT delete_after FROM retention_policies AS policy
        WHERE policy.user_id = owner.user_id AND policy.session_type IN (session.session_type, '*')
        ORDER BY policy.session_type = '*' LIMIT 1
    ) AS policy ON true
    UNION ALL
    SELECT user_id, session_id, %(now)s::timestamptz - %(everybody)s::interval FROM conversation_sessions AS session
    WHERE last_day <= ((%(now)s::timestamptz - %(everybody)s::interval) AT TIME ZONE 'UTC')::date
      AND last_activity < %(now)s::timestamptz - %(everybody)s::interval
      -- A user's own policy stands in the place of the one for everybody, also where it deletes nothing.
      AND NOT EXISTS (SELECT FROM retention_policies AS policy WHERE policy.user_id = session.user_id
                      AND policy.session_type IN (session.session_type, '*'))
), due AS (
    SELECT session.user_id, session.session_id
    FROM ended JOIN conversation_sessions AS session USING (user_id, session_id)
    WHERE session.last_activity < ended.before
    ORDER BY session.user_id, session.session_id
    FOR UPDATE OF session SKIP LOCKED
), deleted AS (
    DELETE FROM conversation_sessions AS session USING due
    WHERE session.user_id = due.user_id AND session.session_id = due.session_id
    RETURNING session.user_id, session.session_id
)
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
SELECT user_id, 'maintenance', 'delete', 'session', session_id FROM deleted;

-- name: progress
SELECT last_index, learned_index, refined_index, episode_index, summarised_index, agent_name, last_activity,
       session_name, context_summary, now() AS now
FROM conversation_sessions
WHERE user_id = %(user_id)s AND session_id = %(session_id)s;

-- name: learned
UPDATE conversation_sessions SET learned_index = %(to)s::integer
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND learned_index = %(from)s::integer;

-- name: refined
UPDATE conversation_sessions SET refined_index = %(to)s::integer
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND refined_index = %(from)s::integer;

-- name: told
UPDATE conversation_sessions
SET episode_index = %(to)s::integer, relevance_score = coalesce((
        SELECT avg(best.relevance) FROM (
            SELECT coalesce(nullif(message.relevance_score, 0), unit.relevance) AS relevance
            FROM conversation_messages AS message
            LEFT JOIN search_units AS unit ON unit.user_id = %(user_id)s AND unit.row_id = message.message_id
            WHERE message.user_id = %(user_id)s AND message.session_id = %(session_id)s
            ORDER BY relevance DESC NULLS LAST LIMIT 5) AS best), relevance_score)
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND episode_index = %(from)s::integer;

-- name: summarised
UPDATE conversation_sessions SET summarised_index = %(to)s::integer, context_summary = %(summary)s
WHERE user_id = %(user_id)s AND session_id = %(session_id)s AND summarised_index = %(from)s::integer;

-- name: unlearn
UPDATE conversation_sessions
SET learned_index = 0, refined_index = 0, episode_index = 0, summarised_index = 0,
    context_summary = CASE summarised_index WHEN 0 THEN context_summary END  -- one by hand stays
WHERE user_id = %(user_id)s;

-- Taken by those who write to many sessions at once, so that two of them cannot wait for each other.
-- name: take_turns
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s, 3));

-- name: hold_many
SELECT session_id, last_index FROM conversation_sessions
WHERE user_id = %(user_id)s AND session_id = ANY(%(session_ids)s::text[])
ORDER BY session_id FOR NO KEY UPDATE;

-- name: open_many
INSERT INTO conversation_sessions (user_id, session_id, session_name, metadata, created_at, last_activity)
SELECT %(user_id)s::text, session_id, session_name, metadata, created_at, created_at
FROM json_to_recordset(%(rows)s::json) AS given (
    session_id TEXT, session_name TEXT, metadata JSONB, created_at TIMESTAMPTZ)
ORDER BY session_id
ON CONFLICT DO NOTHING
RETURNING session_id;

-- name: lifetimes
WITH recent AS (
    SELECT greatest(0, extract(epoch FROM last_activity - created_at))::float AS lasted FROM conversation_sessions
    WHERE last_day >= (now() AT TIME ZONE 'UTC')::date - 1 AND last_activity > now() - interval '1 day'
)
SELECT bound, count(lasted) FILTER (WHERE lasted <= bound)::integer AS sessions,
       coalesce(sum(lasted), 0)::float AS seconds
FROM unnest(%(bounds)s::float[]) AS bound LEFT JOIN recent ON true
GROUP BY bound ORDER BY bound;
