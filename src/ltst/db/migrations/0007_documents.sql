-- Documents come from files of several kinds, and a file that changed changes its document.
ALTER TABLE documents
    ADD COLUMN media_type  VARCHAR(100) NOT NULL DEFAULT 'text/plain',
    -- Of the bytes that the text was read from: a file that did not change need not be read again.
    ADD COLUMN source_hash VARCHAR(64),
    -- NULL until the text changes.
    ADD COLUMN updated_at  TIMESTAMPTZ;

-- By its hash: an address can be longer than an index entry.
CREATE INDEX idx_documents_uri ON documents (user_id, ltst_sha256(uri)) WHERE uri IS NOT NULL;
CREATE INDEX idx_documents_source_hash ON documents (user_id, source_hash) WHERE source_hash IS NOT NULL;
