-- columns: relationship
source_session_id, target_session_id, relationship_type, similarity_score, relationship_strength, metadata,
created_at, relationship_id, user_id

-- name: link
INSERT INTO session_relationships (
    user_id, relationship_id, source_session_id, target_session_id, relationship_type, similarity_score,
    relationship_strength, metadata)
VALUES (%(user_id)s, %(relationship_id)s::uuid, %(source)s, %(target)s, %(type)s, %(similarity)s::float,
        %(strength)s::float, %(metadata)s::jsonb)
ON CONFLICT (user_id, source_session_id, ltst_sha256(target_session_id), relationship_type) DO UPDATE
SET similarity_score = excluded.similarity_score, relationship_strength = excluded.relationship_strength,
    metadata = excluded.metadata, learned = false
RETURNING {relationship};

-- name: related
SELECT {relationship}
FROM session_relationships
WHERE user_id = %(user_id)s AND (source_session_id = %(session_id)s OR target_session_id = %(session_id)s)
ORDER BY relationship_strength DESC, created_at, relationship_id;

-- name: learn
INSERT INTO session_relationships (user_id, relationship_id, source_session_id, target_session_id, relationship_type,
                                   similarity_score, relationship_strength, metadata, learned)
SELECT %(user_id)s::text, %(relationship_id)s::uuid, %(source)s::text, %(target)s::text, %(type)s::text,
       %(similarity)s::float, %(strength)s::float, %(metadata)s::jsonb, true
WHERE NOT EXISTS (SELECT FROM session_relationships
                  WHERE user_id = %(user_id)s::text AND source_session_id IN (%(source)s::text, %(target)s::text)
                    AND target_session_id IN (%(source)s::text, %(target)s::text))
RETURNING relationship_id;

-- name: forget_learned
DELETE FROM session_relationships WHERE user_id = %(user_id)s AND learned;

-- name: fork_many
INSERT INTO session_relationships (user_id, relationship_id, source_session_id, target_session_id, relationship_type,
                                   similarity_score)
SELECT %(user_id)s::text, relationship_id, source, target, 'fork', 1
FROM json_to_recordset(%(rows)s::json) AS given (relationship_id UUID, source TEXT, target TEXT)
ON CONFLICT DO NOTHING;
