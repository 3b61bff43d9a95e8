-- name: switches
SELECT switches FROM user_learning WHERE user_id = %(user_id)s;

-- name: set
INSERT INTO user_learning (user_id, switches) VALUES (%(user_id)s, %(switches)s::jsonb)
ON CONFLICT (user_id) DO UPDATE SET switches = user_learning.switches || excluded.switches
RETURNING switches;

-- name: count_usage
INSERT INTO model_usage (day, model, calls, failures, input_tokens, output_tokens, seconds, cost)
VALUES (current_date, %(model)s, %(calls)s::bigint, %(failures)s::bigint, %(input_tokens)s::bigint,
        %(output_tokens)s::bigint, %(seconds)s::float, %(cost)s::float)
ON CONFLICT (day, model) DO UPDATE
SET calls = model_usage.calls + excluded.calls, failures = model_usage.failures + excluded.failures,
    input_tokens = model_usage.input_tokens + excluded.input_tokens,
    output_tokens = model_usage.output_tokens + excluded.output_tokens,
    seconds = model_usage.seconds + excluded.seconds,
    cost = CASE WHEN model_usage.cost IS NULL AND excluded.cost IS NULL THEN NULL
                ELSE coalesce(model_usage.cost, 0) + coalesce(excluded.cost, 0) END;

-- name: usage
SELECT model, sum(calls)::bigint AS calls, sum(failures)::bigint AS failures,
       sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens,
       sum(seconds) AS seconds, sum(cost) AS cost
FROM model_usage GROUP BY model ORDER BY model;
