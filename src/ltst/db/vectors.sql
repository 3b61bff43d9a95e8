-- The statements of vectors.py.

-- name: valid
SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)
