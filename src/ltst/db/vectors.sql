-- The statements of vectors.py.

-- name: valid
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)

-- name: retire
UPDATE embedding_models SET state = 'former' WHERE state = 'active'

-- name: promote
UPDATE embedding_models SET state = 'active', since = now() WHERE state = 'next'
