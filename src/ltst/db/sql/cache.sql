-- name: clean
SELECT clean_expired_cache();
