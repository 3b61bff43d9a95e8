-- What a prompt holds beside what is searched for.
-- name: all
SELECT * FROM ltst_known(%(user_id)s, %(session_id)s, %(agent)s, %(no_agent)s, %(shared)s::text[], %(longest)s::integer,
                         %(most)s::integer, %(turns)s::integer);
