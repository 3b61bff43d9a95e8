-- A text may stand at several addresses: each is a document of its own. Without an address it is kept once.
ALTER TABLE documents DROP CONSTRAINT documents_user_id_content_hash_key;
CREATE UNIQUE INDEX idx_documents_content_hash ON documents (user_id, content_hash, ltst_sha256(coalesce(uri, '')));
