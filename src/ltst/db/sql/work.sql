-- Work is found in the rows that lack something; `derived_work` only says who is at it and what went wrong.

-- name: due_users
SELECT due.user_id
FROM (
    -- Words need no model, and do not wait for one.
    SELECT user_id, CASE stage WHEN 0 THEN 'words' ELSE 'index' END AS task, '' AS subject FROM search_due AS lacking
    WHERE stage = 0
       OR NOT EXISTS (SELECT FROM derived_work AS work WHERE work.user_id = lacking.user_id AND task = 'embed'
                      AND subject = lacking.row_id::text AND (set_aside_at IS NOT NULL OR not_before > now()))
    UNION ALL SELECT session.user_id, 'learn', session_id FROM conversation_sessions AS session
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE unlearnt AND coalesce((switches ->> 'extraction')::boolean, %(extraction)s::boolean)
    UNION ALL SELECT user_id, task, subject FROM derived_work
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE (task = 'read' OR task = 'reread' AND %(model)s::boolean)
      AND coalesce((switches ->> 'extraction')::boolean, %(extraction)s::boolean)
    UNION ALL SELECT session.user_id, 'refine', session_id FROM conversation_sessions AS session
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE unrefined AND last_activity < now() - %(pause)s::interval AND %(model)s::boolean
      AND coalesce((switches ->> 'extraction')::boolean, %(extraction)s::boolean)
    UNION ALL SELECT session.user_id, 'episode', session_id FROM conversation_sessions AS session
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE untold AND last_activity < now() - %(idle)s::interval
      AND coalesce((switches ->> 'episodes')::boolean, %(episodes)s::boolean)
    -- A conversation that goes on may have grown long; few do at a time.
    UNION ALL SELECT session.user_id, 'episode', session_id FROM conversation_sessions AS session
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE last_day >= (now() AT TIME ZONE 'UTC')::date - 1 AND last_activity > now() - interval '1 day'
      AND last_index > summarised_index + 8
      AND (SELECT sum(token_count) FROM conversation_messages AS message
           WHERE message.user_id = session.user_id AND message.session_id = session.session_id
             AND message_index > summarised_index) > %(tokens)s::integer
      AND coalesce((switches ->> 'episodes')::boolean, %(episodes)s::boolean)
    UNION ALL SELECT user_id, 'weigh', '' FROM unsettled_claims
    UNION ALL SELECT stated.user_id, 'compare', '' FROM statements AS stated
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE NOT compared AND rejected_at IS NULL
      AND ltst_statement_vector(stated.user_id, statement_id, message_id) IS NOT NULL
      AND coalesce((switches ->> 'extraction')::boolean, %(extraction)s::boolean)
    UNION ALL SELECT entry.user_id, 'consolidate', '' FROM memory_entries AS entry
    LEFT JOIN user_learning AS learning USING (user_id)
    WHERE NOT consolidated
      AND EXISTS (SELECT FROM row_vectors AS known WHERE known.user_id = entry.user_id AND row_id = entry_id)
      AND coalesce((switches ->> 'consolidation')::boolean, %(consolidation)s::boolean)
) AS due
LEFT JOIN derived_work AS work
  ON work.user_id = due.user_id AND work.task = due.task AND work.subject = due.subject
WHERE work.user_id IS NULL OR work.set_aside_at IS NULL AND work.not_before <= now()
                              AND (work.leased_until IS NULL OR work.leased_until <= now())
GROUP BY due.user_id
-- Whoever was tried in vain stands behind those who were not.
ORDER BY min(coalesce(work.not_before, '-infinity')), due.user_id
LIMIT %(limit)s;

-- What there may be to do for a user, so that whoever works does not ask for each by itself.
-- name: todo
SELECT EXISTS (SELECT FROM search_due WHERE user_id = %(user_id)s AND stage = 0) AS words,
       EXISTS (SELECT FROM search_due AS lacking
               WHERE user_id = %(user_id)s AND stage > 0
                 AND NOT EXISTS (SELECT FROM derived_work AS work
                                 WHERE work.user_id = %(user_id)s AND task = 'embed' AND subject = lacking.row_id::text
                                   AND (set_aside_at IS NOT NULL OR leased_until IS NOT NULL OR not_before > now()))
              ) AS vectors,
       EXISTS (SELECT FROM derived_work WHERE user_id = %(user_id)s AND task = 'embed' AND set_aside_at IS NULL
                 AND leased_until <= now()) AS careful,
       EXISTS (SELECT FROM derived_work WHERE user_id = %(user_id)s AND set_aside_at IS NULL
                 AND attempts >= %(most)s::integer AND leased_until <= now()) AS crashed,
       EXISTS (SELECT FROM search_users WHERE user_id = %(user_id)s AND NOT ready
                 AND (large OR units > %(large)s::integer)) AS large,
       EXISTS (SELECT FROM unsettled_claims WHERE user_id = %(user_id)s) AS unsettled,
       EXISTS (SELECT FROM derived_work WHERE user_id = %(user_id)s AND task = 'read') AS unread,
       EXISTS (SELECT FROM memory_entries WHERE user_id = %(user_id)s AND NOT consolidated
                 AND EXISTS (SELECT FROM row_vectors AS known WHERE known.user_id = %(user_id)s AND row_id = entry_id)
              ) AS unconsolidated,
       EXISTS (SELECT FROM statements WHERE user_id = %(user_id)s AND NOT compared AND rejected_at IS NULL
                 AND ltst_statement_vector(user_id, statement_id, message_id) IS NOT NULL) AS uncompared,
       session.*, coalesce((SELECT switches FROM user_learning WHERE user_id = %(user_id)s), '{}') AS switches
FROM (SELECT coalesce(bool_or(learned_index < last_index), false) AS unlearnt,
             coalesce(bool_or(refined_index < last_index AND last_activity < now() - %(pause)s::interval), false)
                 OR EXISTS (SELECT FROM derived_work WHERE user_id = %(user_id)s AND task = 'reread') AS unrefined,
             coalesce(bool_or(episode_index < last_index AND last_activity < now() - %(idle)s::interval
                              -- Or it goes on and has grown long.
                              OR last_index > summarised_index + 1 AND last_activity > now() - interval '1 day'
                                 AND (SELECT sum(token_count) FROM conversation_messages AS message
                                      WHERE message.user_id = %(user_id)s
                                        AND message.session_id = conversation_sessions.session_id
                                        AND message_index > summarised_index) > %(tokens)s::integer), false) AS untold
      FROM conversation_sessions WHERE user_id = %(user_id)s) AS session;

-- name: claim
INSERT INTO derived_work (user_id, task, subject, holder, leased_until)
VALUES (%(user_id)s, %(task)s, %(subject)s, %(holder)s::uuid, clock_timestamp() + %(lease)s::interval)
ON CONFLICT (user_id, task, subject) DO UPDATE
SET attempts = derived_work.attempts + 1, holder = excluded.holder, leased_until = excluded.leased_until
WHERE derived_work.set_aside_at IS NULL AND derived_work.not_before <= clock_timestamp()
  AND (derived_work.leased_until IS NULL OR derived_work.leased_until <= clock_timestamp())
RETURNING subject, attempts;

-- name: claim_sessions
WITH due AS (
    SELECT session_id, coalesce(work.attempts, 0) > 0 AS again, coalesce(work.not_before, '-infinity') AS tried,
           last_activity
    FROM conversation_sessions AS session
    LEFT JOIN derived_work AS work
      ON work.user_id = %(user_id)s AND work.task = %(task)s AND work.subject = session.session_id
    WHERE session.user_id = %(user_id)s
      AND (%(session_id)s::text IS NULL OR session.session_id = %(session_id)s)
      AND CASE %(task)s::text
          WHEN 'learn' THEN learned_index < last_index
          WHEN 'refine' THEN refined_index < last_index AND last_activity < now() - %(pause)s::interval
          WHEN 'episode' THEN episode_index < last_index AND last_activity < now() - %(idle)s::interval
              -- One that goes on may have grown long; one that rests was told of as a whole.
              OR (last_index > summarised_index + 1 AND last_activity > now() - interval '1 day'
                  AND (SELECT sum(token_count) FROM conversation_messages AS message
                       WHERE message.user_id = %(user_id)s AND message.session_id = session.session_id
                         AND message_index > summarised_index HAVING count(*) > 1) > %(tokens)s::integer)
          END
      AND (work.user_id IS NULL OR set_aside_at IS NULL AND not_before <= now()
                                   AND (leased_until IS NULL OR leased_until <= now()))
    ORDER BY again, tried, last_activity
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF session SKIP LOCKED
)
INSERT INTO derived_work (user_id, task, subject, holder, leased_until)
SELECT %(user_id)s, %(task)s, session_id, %(holder)s::uuid, clock_timestamp() + %(lease)s::interval
FROM (SELECT *, row_number() OVER (ORDER BY again, tried, last_activity) AS place FROM due) AS due
-- What may be poison is taken up alone, or it would count against the others when it ends the worker.
WHERE NOT again OR place = 1
ON CONFLICT (user_id, task, subject) DO UPDATE
SET attempts = derived_work.attempts + 1, holder = excluded.holder, leased_until = excluded.leased_until
WHERE derived_work.set_aside_at IS NULL AND derived_work.not_before <= clock_timestamp()
  AND (derived_work.leased_until IS NULL OR derived_work.leased_until <= clock_timestamp())
RETURNING subject, attempts;

-- name: to_be_learned
SELECT EXISTS (
    SELECT FROM conversation_sessions AS session
    WHERE session.user_id = %(user_id)s AND session_id = %(session_id)s AND learned_index < last_index
      AND NOT EXISTS (SELECT FROM derived_work AS work
                      WHERE work.user_id = %(user_id)s AND task = 'learn' AND subject = %(session_id)s
                        AND (set_aside_at IS NOT NULL OR not_before > now())));

-- name: renew
UPDATE derived_work SET leased_until = clock_timestamp() + %(lease)s::interval
WHERE user_id = %(user_id)s AND task = %(task)s AND subject = ANY(%(subjects)s::text[]) AND holder = %(holder)s::uuid
  AND leased_until IS NOT NULL;

-- name: finish
DELETE FROM derived_work
WHERE user_id = %(user_id)s AND task = %(task)s AND subject = %(subject)s AND holder = %(holder)s::uuid
  AND leased_until IS NOT NULL;

-- name: put_off
UPDATE derived_work
SET leased_until = NULL, not_before = clock_timestamp() + %(delay)s::interval, reason = %(reason)s,
    attempts = CASE WHEN %(counted)s::boolean THEN attempts ELSE attempts - 1 END,
    set_aside_at = CASE WHEN %(counted)s::boolean AND attempts >= %(most)s::integer THEN clock_timestamp() END
WHERE user_id = %(user_id)s AND task = %(task)s AND subject = %(subject)s AND holder = %(holder)s::uuid
  AND leased_until IS NOT NULL;

-- name: without_vectors
SELECT reason FROM derived_work
WHERE (%(user_id)s::text IS NULL OR user_id = %(user_id)s) AND task = 'index' AND set_aside_at IS NULL
  AND reason IS NOT NULL AND leased_until IS NULL AND not_before > clock_timestamp()
LIMIT 1;

-- name: give_back
WITH as_before AS (
    DELETE FROM derived_work
    WHERE user_id = %(user_id)s AND task = %(task)s AND subject = %(subject)s AND holder = %(holder)s::uuid
      AND leased_until IS NOT NULL AND attempts <= 1 AND reason IS NULL
)
UPDATE derived_work SET leased_until = NULL, attempts = attempts - 1
WHERE user_id = %(user_id)s AND task = %(task)s AND subject = %(subject)s AND holder = %(holder)s::uuid
  AND leased_until IS NOT NULL AND (attempts > 1 OR reason IS NOT NULL);

-- name: count_anew
UPDATE derived_work SET attempts = 1
WHERE user_id = %(user_id)s AND task = %(task)s AND subject = %(subject)s AND holder = %(holder)s::uuid;

-- name: fail
INSERT INTO derived_work (user_id, task, subject, reason)
SELECT %(user_id)s, %(task)s, subject, %(reason)s FROM unnest(%(subjects)s::text[]) AS subject
ON CONFLICT (user_id, task, subject) DO UPDATE
SET attempts = derived_work.attempts + 1, reason = excluded.reason, leased_until = NULL,
    set_aside_at = CASE WHEN derived_work.attempts + 1 >= %(most)s::integer THEN clock_timestamp() END;

-- name: set_aside
INSERT INTO derived_work (user_id, task, subject, reason, set_aside_at)
SELECT %(user_id)s, %(task)s, subject, %(reason)s, clock_timestamp() FROM unnest(%(subjects)s::text[]) AS subject
ON CONFLICT (user_id, task, subject) DO UPDATE
SET reason = excluded.reason, set_aside_at = excluded.set_aside_at, leased_until = NULL;

-- name: unread
SELECT subject FROM derived_work
WHERE user_id = %(user_id)s AND task = %(task)s AND set_aside_at IS NULL AND not_before <= now()
  AND (leased_until IS NULL OR leased_until <= now())
ORDER BY subject
LIMIT %(limit)s;

-- name: succeed
DELETE FROM derived_work
WHERE user_id = %(user_id)s AND task = %(task)s AND subject = ANY(%(subjects)s::text[]) AND leased_until IS NULL;

-- name: set_aside_crashed
UPDATE derived_work SET set_aside_at = clock_timestamp(), leased_until = NULL,
                        reason = coalesce(reason, 'whoever was at it ended before it was done')
WHERE user_id = %(user_id)s AND set_aside_at IS NULL AND attempts >= %(most)s::integer
  AND leased_until <= clock_timestamp();

-- name: held
SELECT count(*) FROM derived_work
WHERE (%(user_id)s::text IS NULL OR user_id = %(user_id)s) AND leased_until > now() AND set_aside_at IS NULL;

-- name: left
SELECT (SELECT count(*) FROM search_due WHERE %(user_id)s::text IS NULL OR user_id = %(user_id)s)
     + (SELECT count(*) FROM memory_entries
        WHERE (%(user_id)s::text IS NULL OR user_id = %(user_id)s) AND NOT consolidated)
     + (SELECT count(*) FROM conversation_sessions
        WHERE unlearnt AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s))
     + (SELECT count(*) FROM conversation_sessions
        WHERE untold AND (%(user_id)s::text IS NULL OR user_id = %(user_id)s));

-- name: blocked
SELECT EXISTS (SELECT FROM derived_work WHERE user_id = %(user_id)s AND task = %(task)s AND subject = ''
                 AND (set_aside_at IS NOT NULL OR not_before > now()));

-- name: aside
SELECT task, count(*) AS items, max(reason) AS reason FROM derived_work
WHERE set_aside_at IS NOT NULL GROUP BY task ORDER BY task;

-- name: retry
WITH due AS (
    DELETE FROM derived_work WHERE set_aside_at IS NOT NULL AND task NOT IN ('read', 'reread') RETURNING 1
), unread AS (
    -- Its conversation was read past it: that it is due stands nowhere else.
    UPDATE derived_work SET set_aside_at = NULL, attempts = 0, reason = NULL, not_before = now()
    WHERE set_aside_at IS NOT NULL AND task IN ('read', 'reread') RETURNING 1
)
SELECT (SELECT count(*) FROM due) + (SELECT count(*) FROM unread);

-- name: clean
DELETE FROM derived_work AS work
WHERE task IN ('read', 'reread')
  AND NOT EXISTS (SELECT FROM conversation_messages AS message
                  WHERE message.user_id = work.user_id AND message_id::text = subject)
   OR task = 'embed'
  AND NOT EXISTS (SELECT FROM search_due AS lacking WHERE lacking.user_id = work.user_id AND row_id::text = subject)
   OR task IN ('learn', 'refine', 'episode')
  AND NOT EXISTS (SELECT FROM conversation_sessions AS session
                  WHERE session.user_id = work.user_id AND session_id = subject)
   -- Whoever was at it ended when there was nothing left to do.
   OR set_aside_at IS NULL AND reason IS NULL AND leased_until < now() - interval '1 day';
