-- columns: item
namespace, key, value, created_at, updated_at, revision, ttl, expires_at, item_id::text AS item_id, user_id

-- Whoever writes items of a user does so alone: of two batches, neither may wait for the other.
-- name: lock
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s, 3));

-- The revision that an item has; what has expired is as if it were not there.
-- name: revision
SELECT revision FROM items
WHERE user_id = %(user_id)s AND item_id = ltst_item_id(%(namespace)s::text[], %(key)s)
  AND (expires_at IS NULL OR expires_at > clock_timestamp())
FOR UPDATE;

-- name: put
INSERT INTO items (user_id, item_id, namespace, key, value, content, vectors, ttl, expires_at)
SELECT %(user_id)s::text, ltst_item_id(namespace, key), namespace, key, coalesce(value, 'null'), content, vectors,
       make_interval(secs => seconds), clock_timestamp() + make_interval(secs => seconds)
FROM jsonb_to_recordset(%(rows)s::jsonb) AS given (
    namespace TEXT[], key TEXT, value JSONB, content TEXT, vectors VECTOR[], seconds FLOAT)
ON CONFLICT (user_id, item_id) DO UPDATE
SET value = excluded.value, content = excluded.content, vectors = excluded.vectors, ttl = excluded.ttl,
    expires_at = excluded.expires_at,
    revision = CASE WHEN items.expires_at <= clock_timestamp() THEN 1 ELSE items.revision + 1 END,
    created_at = CASE WHEN items.expires_at <= clock_timestamp() THEN excluded.created_at ELSE items.created_at END,
    updated_at = greatest(excluded.updated_at, items.updated_at + interval '1 microsecond')
RETURNING {item};

-- name: get
SELECT {item} FROM items
WHERE user_id = %(user_id)s AND item_id = ltst_item_id(%(namespace)s::text[], %(key)s)
  AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: read
SELECT {item} FROM items
WHERE user_id = %(user_id)s AND item_id = ANY(%(ids)s::uuid[])
  AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- Each lives for its time again, from now on.
-- name: refresh
UPDATE items SET expires_at = clock_timestamp() + ttl
WHERE user_id = %(user_id)s AND item_id = ANY(%(ids)s::uuid[]) AND expires_at > clock_timestamp() AND ttl IS NOT NULL
RETURNING {item};

-- name: delete
WITH gone AS (
    DELETE FROM items
    WHERE user_id = %(user_id)s AND item_id = ltst_item_id(%(namespace)s::text[], %(key)s)
    RETURNING item_id, expires_at
)
SELECT item_id::text FROM gone WHERE expires_at IS NULL OR expires_at > clock_timestamp();

-- name: list
SELECT {item} FROM items
WHERE user_id = %(user_id)s AND path >= ltst_path(%(below)s::text[]) AND path < ltst_path_after(%(below)s::text[])
  AND namespace[1:cardinality(%(below)s::text[])] = %(below)s::text[]
  AND (expires_at IS NULL OR expires_at > clock_timestamp())
ORDER BY items.namespace, items.key
LIMIT %(limit)s OFFSET %(offset)s;

-- The newest first; with a vector the nearest, and last those that have none to compare.
-- name: search
SELECT {item}, score
FROM items
CROSS JOIN LATERAL (
    SELECT ltst_item_nearness(vectors, %(vector)s::vector, %(distance)s) AS score) AS compared
WHERE user_id = %(user_id)s AND path >= ltst_path(%(below)s::text[]) AND path < ltst_path_after(%(below)s::text[])
  AND namespace[1:cardinality(%(below)s::text[])] = %(below)s::text[]
  AND (expires_at IS NULL OR expires_at > clock_timestamp())
  AND ltst_value_meets(value, %(conditions)s::jsonb)
ORDER BY score DESC NULLS LAST, items.updated_at DESC, items.item_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: list_namespaces
SELECT DISTINCT namespace[1:coalesce(%(max_depth)s::integer, cardinality(namespace))] AS namespace
FROM items
WHERE user_id = %(user_id)s AND (expires_at IS NULL OR expires_at > clock_timestamp())
  AND ltst_namespace_has(namespace, %(prefix)s::text[], false) AND ltst_namespace_has(namespace, %(suffix)s::text[], true)
ORDER BY 1
LIMIT %(limit)s OFFSET %(offset)s;

-- One that is being written stays until the next time.
-- name: clean
WITH old AS (
    SELECT user_id, item_id FROM items WHERE expires_at <= now() FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM items USING old WHERE items.user_id = old.user_id AND items.item_id = old.item_id
    RETURNING items.user_id, items.item_id
)
INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
SELECT user_id, 'maintenance', 'expire', 'item', item_id::text FROM gone;
