-- What search needs beside the vectors: terms for the lexical arm, and the parts of texts that are longer than what
-- the embedding model reads. All of it is derived; a row that lacks its terms or its vector is due.

-- One embedding model at a time: vectors of two models are never compared. `source` is how every process can make the
-- model by itself; without one only programs that bring it can use it.
CREATE TABLE embedding_models (
    name       TEXT PRIMARY KEY,
    dimensions INTEGER NOT NULL CHECK (dimensions > 0),
    source     TEXT,
    state      TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'next')),
    since      TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_embedding_models_state ON embedding_models (state);

-- Users with so many vectors that theirs are found by the HNSW index; until `ready`, it is still being filled.
CREATE TABLE large_users (
    user_id VARCHAR(255) NOT NULL PRIMARY KEY CHECK (user_id <> ''),
    ready   BOOLEAN NOT NULL DEFAULT false
);

-- Search reads every row of a user: rows stay in one piece up to a page, so that it need not follow pointers. What is
-- too long for that leaves the row first where search does not look.
ALTER TABLE conversation_messages ADD COLUMN terms TSVECTOR, SET (toast_tuple_target = 8160);
ALTER TABLE user_facts ADD COLUMN terms TSVECTOR, SET (toast_tuple_target = 8160);
ALTER TABLE memory_entries ADD COLUMN terms TSVECTOR, SET (toast_tuple_target = 8160);
ALTER TABLE document_chunks ADD COLUMN terms TSVECTOR, SET (toast_tuple_target = 8160);
ALTER TABLE conversation_messages ALTER COLUMN terms SET STORAGE MAIN;
ALTER TABLE user_facts ALTER COLUMN terms SET STORAGE MAIN;
ALTER TABLE memory_entries ALTER COLUMN terms SET STORAGE MAIN;
ALTER TABLE document_chunks ALTER COLUMN terms SET STORAGE MAIN;

CREATE INDEX idx_conversation_messages_due ON conversation_messages (user_id, created_at)
    WHERE terms IS NULL OR embedding IS NULL;
CREATE INDEX idx_user_facts_due ON user_facts (user_id) WHERE terms IS NULL OR embedding IS NULL;
CREATE INDEX idx_memory_entries_due ON memory_entries (user_id) WHERE terms IS NULL OR embedding IS NULL;
CREATE INDEX idx_document_chunks_due ON document_chunks (user_id) WHERE terms IS NULL OR embedding IS NULL;

CREATE TABLE embedding_parts (
    user_id    VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    owner_id   UUID NOT NULL,
    part_index INTEGER NOT NULL,
    embedding  VECTOR(384),
    ann        BOOLEAN NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, owner_id, part_index)
);
ALTER TABLE embedding_parts ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX idx_embedding_parts_embedding ON embedding_parts USING hnsw (embedding vector_cosine_ops) WHERE ann;

-- Parts have owners of several kinds, so a trigger on each does what a foreign key cannot: TG_ARGV names the key.
CREATE FUNCTION ltst_drop_parts() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'DELETE FROM embedding_parts USING gone '
        'WHERE embedding_parts.user_id = gone.user_id AND embedding_parts.owner_id = gone.%I', TG_ARGV[0]);
    RETURN NULL;
END $$;
CREATE TRIGGER drop_parts_trigger AFTER DELETE ON conversation_messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_drop_parts('message_id');
CREATE TRIGGER drop_parts_trigger AFTER DELETE ON user_facts
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_drop_parts('fact_id');
CREATE TRIGGER drop_parts_trigger AFTER DELETE ON memory_entries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_drop_parts('entry_id');
CREATE TRIGGER drop_parts_trigger AFTER DELETE ON document_chunks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_drop_parts('chunk_id');

-- A cached retrieval holds ids, never contents, and is good for one version of the user's memory.
ALTER TABLE memory_retrieval_cache ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

DO $$
DECLARE
    table_name TEXT;
BEGIN
    FOREACH table_name IN ARRAY ARRAY['embedding_parts', 'large_users'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', table_name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', table_name);
        EXECUTE format(
            'CREATE POLICY own_rows ON %I TO ltst_user '
            'USING (user_id = current_setting(''ltst.user_id'', true)) '
            'WITH CHECK (user_id = current_setting(''ltst.user_id'', true))', table_name);
        EXECUTE format('CREATE POLICY all_rows ON %I TO ltst_keeper USING (true) WITH CHECK (true)', table_name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO ltst_user, ltst_keeper', table_name);
    END LOOP;
END $$;

-- No user's data in here, but no table is left outside the rule.
ALTER TABLE embedding_models ENABLE ROW LEVEL SECURITY;
ALTER TABLE embedding_models FORCE ROW LEVEL SECURITY;
CREATE POLICY everyone ON embedding_models USING (true) WITH CHECK (true);
GRANT SELECT ON embedding_models TO ltst_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON embedding_models TO ltst_keeper;
