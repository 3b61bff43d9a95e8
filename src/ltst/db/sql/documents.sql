-- name: add
INSERT INTO documents (user_id, document_id, title, uri, content_hash, metadata)
VALUES (%(user_id)s, %(document_id)s::uuid, %(title)s, %(uri)s, %(content_hash)s, %(metadata)s::jsonb)
ON CONFLICT (user_id, content_hash) DO NOTHING
RETURNING document_id, user_id, title, uri, content_hash, metadata, created_at;

-- name: add_chunks
INSERT INTO document_chunks (user_id, document_id, chunk_id, chunk_index, content)
SELECT %(user_id)s, %(document_id)s::uuid, chunk_id, position, content
FROM unnest(%(chunk_ids)s::uuid[], %(contents)s::text[]) WITH ORDINALITY AS given (chunk_id, content, position);

-- name: by_hash
SELECT document_id, user_id, title, uri, content_hash, metadata, created_at
FROM documents
WHERE user_id = %(user_id)s AND content_hash = %(content_hash)s;

-- name: get
SELECT document_id, user_id, title, uri, content_hash, metadata, created_at
FROM documents
WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid;

-- name: chunks
SELECT chunk_id, document_id, chunk_index, content, metadata
FROM document_chunks
WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid
ORDER BY chunk_index;

-- name: list
SELECT document_id, user_id, title, uri, content_hash, metadata, created_at
FROM documents
WHERE user_id = %(user_id)s
ORDER BY created_at DESC, document_id
LIMIT %(limit)s OFFSET %(offset)s;

-- name: forget
DELETE FROM documents WHERE user_id = %(user_id)s AND document_id = %(document_id)s::uuid;
