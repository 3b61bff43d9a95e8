-- columns: instruction
agent_name, content, version, active, created_at, updated_at, id, user_id, learned

-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(29) || %(agent)s, 0));

-- name: retire
UPDATE user_agent_prompt_customizations SET active = false, updated_at = now()
WHERE user_id = %(user_id)s AND agent_name = %(agent)s AND active;

-- name: revive
UPDATE user_agent_prompt_customizations SET active = true, updated_at = now()
WHERE user_id = %(user_id)s AND id = %(id)s::uuid;

-- name: add
INSERT INTO user_agent_prompt_customizations (user_id, id, agent_name, content, version, learned)
SELECT %(user_id)s::text, %(id)s::uuid, %(agent)s::text, %(content)s::text, 1 + coalesce(max(version), 0),
       %(learned)s::boolean
FROM user_agent_prompt_customizations WHERE user_id = %(user_id)s::text AND agent_name = %(agent)s::text
RETURNING {instruction};

-- name: get
SELECT {instruction}
FROM user_agent_prompt_customizations
WHERE user_id = %(user_id)s AND agent_name = %(agent)s AND active;

-- name: list
SELECT {instruction}
FROM user_agent_prompt_customizations
WHERE user_id = %(user_id)s AND active
ORDER BY agent_name;

-- name: history
SELECT {instruction}
FROM user_agent_prompt_customizations
WHERE user_id = %(user_id)s AND agent_name = %(agent)s
ORDER BY version;

-- name: forget
DELETE FROM user_agent_prompt_customizations WHERE user_id = %(user_id)s AND agent_name = %(agent)s;
