-- columns: document
document_id, user_id, title, uri, content_hash, metadata, created_at, media_type, updated_at

-- Adding looks for what is there and then writes: one at a time for a user.
-- name: hold
SELECT pg_advisory_xact_lock(hashtextextended(%(user_id)s || chr(28), 0));

-- name: add
INSERT INTO documents (user_id, document_id, title, uri, content_hash, metadata, media_type, source_hash)
VALUES (%(user_id)s, %(document_id)s::uuid, %(title)s, %(uri)s, %(content_hash)s, %(metadata)s::jsonb,
        %(media_type)s, %(source_hash)s);

-- name: update
UPDATE documents
SET title = %(title)s, content_hash = %(content_hash)s, metadata = coalesce(%(metadata)s::jsonb, metadata),
    media_type = %(media_type)s, source_hash = %(source_hash)s, updated_at = now()
WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid;

-- name: add_chunks
INSERT INTO document_chunks (user_id, document_id, chunk_id, chunk_index, content, metadata)
SELECT %(user_id)s, %(document_id)s::uuid, chunk_id, position, content, metadata
FROM unnest(%(chunk_ids)s::uuid[], %(positions)s::integer[], %(contents)s::text[], %(metadata)s::jsonb[])
    AS given (chunk_id, position, content, metadata);

-- name: outline
SELECT chunk_id, chunk_index, ltst_sha256(content) AS content_hash, metadata
FROM document_chunks
WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid
ORDER BY chunk_index;

-- name: remove_chunks
DELETE FROM document_chunks WHERE user_id = %(user_id)s AND chunk_id = ANY(%(chunk_ids)s::uuid[]);

-- Out of each other's way first: two chunks must not have the same place even for a moment.
-- name: lift_chunks
UPDATE document_chunks SET chunk_index = -chunk_index
WHERE user_id = %(user_id)s AND chunk_id = ANY(%(chunk_ids)s::uuid[]);

-- name: place_chunks
UPDATE document_chunks AS chunk SET chunk_index = given.position, metadata = given.metadata
FROM unnest(%(chunk_ids)s::uuid[], %(positions)s::integer[], %(metadata)s::jsonb[])
    AS given (chunk_id, position, metadata)
WHERE chunk.user_id = %(user_id)s AND chunk.chunk_id = given.chunk_id;

-- What a chunk is indexed under has changed: it is due again.
-- name: reindex_chunks
SELECT ltst_index_again(%(user_id)s, 'document', %(chunk_ids)s::uuid[]);

-- The document with this text at this address; without an address, any that has the text.
-- name: by_hash
SELECT {document}
FROM documents
WHERE user_id = %(user_id)s AND content_hash = %(content_hash)s AND (%(uri)s::text IS NULL OR uri = %(uri)s)
ORDER BY created_at, document_id
LIMIT 1;

-- name: by_uri
SELECT {document}
FROM documents
WHERE user_id = %(user_id)s AND ltst_sha256(uri) = ltst_sha256(%(uri)s)
ORDER BY created_at DESC, document_id
LIMIT 1
FOR UPDATE;

-- What was read from the same bytes before, at this address; without one, at any.
-- name: by_source
SELECT {document}
FROM documents
WHERE user_id = %(user_id)s AND source_hash = %(source_hash)s AND (%(uri)s::text IS NULL OR uri = %(uri)s)
ORDER BY created_at, document_id
LIMIT 1;

-- name: get
SELECT {document}
FROM documents
WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid;

-- name: chunks
SELECT chunk_id, document_id, chunk_index, content, metadata
FROM document_chunks
WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid
ORDER BY chunk_index;

-- name: list
SELECT {document}
FROM documents
WHERE user_id = %(user_id)s
ORDER BY created_at DESC, document_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: forget
DELETE FROM documents WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid;
