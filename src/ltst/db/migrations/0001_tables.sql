-- The tables of the store. Every key begins with user_id: two users may use the same session id, an insert
-- cannot reveal that someone else's row exists, and the tables distribute by user_id unchanged.

CREATE FUNCTION ltst_sha256(content TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(sha256(convert_to(content, 'UTF8')), 'hex');

CREATE TABLE conversation_sessions (
    user_id         VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    session_id      VARCHAR(255) NOT NULL CHECK (session_id <> ''),
    session_name    VARCHAR(500),
    session_type    VARCHAR(100) NOT NULL DEFAULT 'conversation',
    status          VARCHAR(50) NOT NULL DEFAULT 'active',
    agent_name      VARCHAR(255),
    metadata        JSONB NOT NULL DEFAULT '{}',
    context_summary TEXT,
    relevance_score FLOAT NOT NULL DEFAULT 0,
    session_length  INTEGER NOT NULL DEFAULT 0,
    -- The highest message_index given out, so that the next one needs no look at the messages.
    last_index      INTEGER NOT NULL DEFAULT 0,
    -- How far knowledge has been drawn from the messages; behind last_index means that learning is due.
    learned_index   INTEGER NOT NULL DEFAULT 0,
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    last_activity   TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, session_id)
) WITH (fillfactor = 70);
-- Room on each page (fillfactor) and no b-tree over what every message changes keep the counters' update
-- on its page (HOT): last_activity is indexed by BRIN, which does not stand in the way of that.
CREATE INDEX idx_conversation_sessions_user_id ON conversation_sessions (user_id, session_type);
CREATE INDEX idx_conversation_sessions_session_id ON conversation_sessions (session_id);
CREATE INDEX idx_conversation_sessions_last_activity ON conversation_sessions USING brin (last_activity);
CREATE INDEX idx_conversation_sessions_relevance_score ON conversation_sessions (user_id, relevance_score);

CREATE TABLE conversation_messages (
    user_id            VARCHAR(255) NOT NULL,
    message_id         UUID NOT NULL DEFAULT gen_random_uuid(),
    session_id         VARCHAR(255) NOT NULL,
    message_type       VARCHAR(50) NOT NULL DEFAULT 'message'
                       CHECK (message_type IN ('message', 'system', 'context', 'preference')),
    role               VARCHAR(50) NOT NULL CHECK (role IN ('human', 'ai', 'system', 'tool')),
    content            TEXT NOT NULL,
    content_hash       VARCHAR(64) NOT NULL,
    context_hash       VARCHAR(64) NOT NULL,
    message_index      INTEGER NOT NULL,
    message_key        VARCHAR(255),
    token_count        INTEGER NOT NULL DEFAULT 0,
    metadata           JSONB NOT NULL DEFAULT '{}',
    embedding          VECTOR(384),
    ann                BOOLEAN NOT NULL DEFAULT false,
    relevance_score    FLOAT NOT NULL DEFAULT 0,
    is_context_message BOOLEAN NOT NULL DEFAULT false,
    parent_message_id  UUID,
    timestamp          TIMESTAMPTZ NOT NULL DEFAULT now(),
    created_at         TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, message_id),
    FOREIGN KEY (user_id, session_id) REFERENCES conversation_sessions ON DELETE CASCADE,
    FOREIGN KEY (user_id, parent_message_id) REFERENCES conversation_messages
        ON DELETE SET NULL (parent_message_id)
);
-- Exact search reads every vector of a user: in the row itself, not in TOAST, that costs half as much.
ALTER TABLE conversation_messages ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE UNIQUE INDEX idx_conversation_messages_message_index
    ON conversation_messages (user_id, session_id, message_index);
CREATE INDEX idx_conversation_messages_session_id ON conversation_messages (session_id, timestamp);
CREATE INDEX idx_conversation_messages_content_hash ON conversation_messages (user_id, content_hash);
CREATE UNIQUE INDEX idx_conversation_messages_key
    ON conversation_messages (user_id, session_id, ltst_sha256(message_key)) WHERE message_key IS NOT NULL;
CREATE INDEX idx_conversation_messages_parent
    ON conversation_messages (user_id, parent_message_id) WHERE parent_message_id IS NOT NULL;
-- Partial: only the rows of users with very many messages are in it; everyone else's writes do not pay for it.
CREATE INDEX idx_conversation_messages_embedding
    ON conversation_messages USING hnsw (embedding vector_cosine_ops) WHERE ann;

CREATE TABLE conversation_context (
    user_id         VARCHAR(255) NOT NULL,
    context_id      UUID NOT NULL DEFAULT gen_random_uuid(),
    session_id      VARCHAR(255) NOT NULL,
    context_type    VARCHAR(100) NOT NULL
                    CHECK (context_type IN ('conversation', 'preference', 'project', 'user_info', 'working')),
    context_key     VARCHAR(255) NOT NULL CHECK (context_key <> ''),
    context_value   TEXT NOT NULL,
    relevance_score FLOAT NOT NULL DEFAULT 0,
    context_hash    VARCHAR(64) NOT NULL,
    metadata        JSONB NOT NULL DEFAULT '{}',
    expires_at      TIMESTAMPTZ,
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, context_id),
    FOREIGN KEY (user_id, session_id) REFERENCES conversation_sessions ON DELETE CASCADE
);
-- By its hash: three keys of 255 characters can be longer than an index entry.
CREATE UNIQUE INDEX idx_conversation_context_key
    ON conversation_context (user_id, session_id, context_type, ltst_sha256(context_key));
CREATE INDEX idx_conversation_context_session_id ON conversation_context (session_id);
CREATE INDEX idx_conversation_context_type ON conversation_context (user_id, context_type);
CREATE INDEX idx_conversation_context_relevance_score ON conversation_context (user_id, relevance_score);
CREATE INDEX idx_conversation_context_expires_at ON conversation_context (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE user_preferences (
    user_id          VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    preference_id    UUID NOT NULL DEFAULT gen_random_uuid(),
    preference_key   VARCHAR(255) NOT NULL CHECK (preference_key <> ''),
    -- For a sensitive preference the ciphertext, bound to user, row and key version.
    preference_value TEXT NOT NULL,
    preference_type  VARCHAR(100) NOT NULL DEFAULT 'general'
                     CHECK (preference_type IN ('general', 'coding', 'communication', 'project')),
    sensitive        BOOLEAN NOT NULL DEFAULT false,
    confidence_score FLOAT NOT NULL DEFAULT 1 CHECK (confidence_score BETWEEN 0 AND 1),
    source           VARCHAR(50) NOT NULL DEFAULT 'explicit' CHECK (source IN ('learned', 'explicit', 'inferred')),
    usage_count      INTEGER NOT NULL DEFAULT 0,
    last_used        TIMESTAMPTZ,
    metadata         JSONB NOT NULL DEFAULT '{}',
    created_at       TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at       TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, preference_id),
    UNIQUE (user_id, preference_key)
);
CREATE INDEX idx_user_preferences_user_id ON user_preferences (user_id, preference_type);
CREATE INDEX idx_user_preferences_key ON user_preferences (preference_key);
CREATE INDEX idx_user_preferences_confidence_score ON user_preferences (user_id, confidence_score);

-- One data key per user, wrapped by the master key that lives outside the database.
CREATE TABLE user_keys (
    user_id       VARCHAR(255) NOT NULL PRIMARY KEY CHECK (user_id <> ''),
    key_version   INTEGER NOT NULL,
    wrapped_key   BYTEA NOT NULL,
    master_key_id VARCHAR(64) NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE user_agent_prompt_customizations (
    user_id    VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    id         UUID NOT NULL DEFAULT gen_random_uuid(),
    agent_name VARCHAR(255) NOT NULL CHECK (agent_name <> ''),
    content    TEXT NOT NULL,
    version    INTEGER NOT NULL,
    active     BOOLEAN NOT NULL DEFAULT true,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, agent_name, version)
);
CREATE UNIQUE INDEX idx_user_agent_prompt_customizations_active
    ON user_agent_prompt_customizations (user_id, agent_name) WHERE active;

CREATE TABLE user_facts (
    user_id           VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    fact_id           UUID NOT NULL DEFAULT gen_random_uuid(),
    fact_key          VARCHAR(255) NOT NULL CHECK (fact_key <> ''),
    fact_value        TEXT NOT NULL,
    single_valued     BOOLEAN NOT NULL DEFAULT true,
    confidence        FLOAT NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    source_message_id UUID,
    valid_from        TIMESTAMPTZ NOT NULL DEFAULT now(),
    valid_to          TIMESTAMPTZ CHECK (valid_to >= valid_from),
    recorded_at       TIMESTAMPTZ NOT NULL DEFAULT now(),
    superseded_by     UUID,
    rejected_at       TIMESTAMPTZ,
    embedding         VECTOR(384),
    metadata          JSONB NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, fact_id),
    FOREIGN KEY (user_id, source_message_id) REFERENCES conversation_messages
        ON DELETE SET NULL (source_message_id)
);
ALTER TABLE user_facts ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX idx_user_facts_key ON user_facts (user_id, fact_key, valid_from);
CREATE UNIQUE INDEX idx_user_facts_open ON user_facts (user_id, fact_key)
    WHERE valid_to IS NULL AND rejected_at IS NULL AND single_valued;
CREATE INDEX idx_user_facts_source_message_id
    ON user_facts (user_id, source_message_id) WHERE source_message_id IS NOT NULL;

CREATE TABLE memory_entries (
    user_id          VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    entry_id         UUID NOT NULL DEFAULT gen_random_uuid(),
    agent_name       VARCHAR(255),
    session_id       VARCHAR(255),
    memory_type      VARCHAR(50) NOT NULL CHECK (memory_type IN ('long_term', 'episodic')),
    content          TEXT NOT NULL,
    content_hash     VARCHAR(64) NOT NULL,
    embedding        VECTOR(384),
    importance_score FLOAT NOT NULL DEFAULT 0.5 CHECK (importance_score BETWEEN 0 AND 1),
    source           VARCHAR(255),
    metadata         JSONB NOT NULL DEFAULT '{}',
    occurred_at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    created_at       TIMESTAMPTZ NOT NULL DEFAULT now(),
    expires_at       TIMESTAMPTZ,
    last_used        TIMESTAMPTZ,
    usage_count      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, entry_id),
    UNIQUE (user_id, memory_type, content_hash),
    FOREIGN KEY (user_id, session_id) REFERENCES conversation_sessions ON DELETE CASCADE
);
ALTER TABLE memory_entries ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX idx_memory_entries_session_id ON memory_entries (user_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX idx_memory_entries_expires_at ON memory_entries (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE documents (
    user_id      VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    document_id  UUID NOT NULL DEFAULT gen_random_uuid(),
    title        VARCHAR(500),
    uri          TEXT,
    content_hash VARCHAR(64) NOT NULL,
    metadata     JSONB NOT NULL DEFAULT '{}',
    created_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, document_id),
    UNIQUE (user_id, content_hash)
);

CREATE TABLE document_chunks (
    user_id     VARCHAR(255) NOT NULL,
    chunk_id    UUID NOT NULL DEFAULT gen_random_uuid(),
    document_id UUID NOT NULL,
    chunk_index INTEGER NOT NULL,
    content     TEXT NOT NULL,
    embedding   VECTOR(384),
    metadata    JSONB NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, chunk_id),
    UNIQUE (user_id, document_id, chunk_index),
    FOREIGN KEY (user_id, document_id) REFERENCES documents ON DELETE CASCADE
);
ALTER TABLE document_chunks ALTER COLUMN embedding SET STORAGE PLAIN;

CREATE TABLE session_relationships (
    user_id               VARCHAR(255) NOT NULL,
    relationship_id       UUID NOT NULL DEFAULT gen_random_uuid(),
    source_session_id     VARCHAR(255) NOT NULL,
    target_session_id     VARCHAR(255) NOT NULL CHECK (target_session_id <> source_session_id),
    relationship_type     VARCHAR(50) NOT NULL
                          CHECK (relationship_type IN ('continuation', 'related', 'fork', 'reference')),
    similarity_score      FLOAT NOT NULL DEFAULT 0,
    relationship_strength FLOAT NOT NULL DEFAULT 1,
    metadata              JSONB NOT NULL DEFAULT '{}',
    created_at            TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, relationship_id),
    FOREIGN KEY (user_id, source_session_id) REFERENCES conversation_sessions ON DELETE CASCADE,
    FOREIGN KEY (user_id, target_session_id) REFERENCES conversation_sessions ON DELETE CASCADE
);
CREATE UNIQUE INDEX idx_session_relationships_pair
    ON session_relationships (user_id, source_session_id, ltst_sha256(target_session_id), relationship_type);
CREATE INDEX idx_session_relationships_source ON session_relationships (user_id, source_session_id);
CREATE INDEX idx_session_relationships_target ON session_relationships (user_id, target_session_id);
CREATE INDEX idx_session_relationships_similarity ON session_relationships (user_id, similarity_score);

CREATE TABLE memory_retrieval_cache (
    user_id           VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    cache_id          UUID NOT NULL DEFAULT gen_random_uuid(),
    cache_key         VARCHAR(255) NOT NULL,
    session_id        VARCHAR(255),
    query_hash        VARCHAR(64) NOT NULL,
    retrieved_context JSONB NOT NULL,
    relevance_scores  JSONB NOT NULL DEFAULT '{}',
    retrieval_time_ms FLOAT,
    cache_hit_count   INTEGER NOT NULL DEFAULT 0,
    expires_at        TIMESTAMPTZ NOT NULL DEFAULT now() + interval '1 hour',
    created_at        TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, cache_id),
    UNIQUE (user_id, cache_key)
);
CREATE INDEX idx_memory_retrieval_cache_session_id ON memory_retrieval_cache (user_id, session_id);
CREATE INDEX idx_memory_retrieval_cache_expires_at ON memory_retrieval_cache (expires_at);

-- user_id and session_id hold salted hashes here: enough to tell callers apart, not who they are.
CREATE TABLE memory_performance_metrics (
    user_id           VARCHAR(255) NOT NULL,
    metric_id         UUID NOT NULL DEFAULT gen_random_uuid(),
    operation_type    VARCHAR(50) NOT NULL
                      CHECK (operation_type IN ('retrieval', 'storage', 'merging', 'context_search')),
    operation_name    VARCHAR(100) NOT NULL,
    session_id        VARCHAR(255),
    operation_hash    VARCHAR(64) NOT NULL,
    execution_time_ms FLOAT NOT NULL,
    result_count      INTEGER NOT NULL DEFAULT 0,
    cache_hit         BOOLEAN,
    error_message     TEXT,
    created_at        TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, metric_id)
);
CREATE INDEX idx_memory_performance_metrics_operation_type
    ON memory_performance_metrics (operation_type, created_at);
CREATE INDEX idx_memory_performance_metrics_execution_time ON memory_performance_metrics (execution_time_ms);

CREATE TABLE retention_policies (
    user_id       VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    -- '*' is the policy of every session type that has none of its own.
    session_type  VARCHAR(100) NOT NULL DEFAULT '*',
    archive_after INTERVAL CHECK (archive_after > interval '0'),
    delete_after  INTERVAL CHECK (delete_after > interval '0'),
    updated_at    TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, session_type)
);

CREATE TABLE event_ledger (
    user_id     VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    event_id    BIGINT GENERATED ALWAYS AS IDENTITY,
    occurred_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    actor       VARCHAR(255) NOT NULL,
    action      VARCHAR(50) NOT NULL,
    noun        VARCHAR(50) NOT NULL,
    row_id      VARCHAR(255) NOT NULL,
    details     JSONB NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, event_id)
);
