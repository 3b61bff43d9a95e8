-- A database that grows: what nothing reads goes, and upkeep finds what is new or due by an index instead of by reading
-- everything.

-- No query reads it: documents and their parts are told apart by their hashes, messages never.
DROP INDEX idx_conversation_messages_content_hash;

-- What a session lacks. Indexes on the counters themselves would be written with each message; whether something is due
-- changes only where nothing was due before.
ALTER TABLE conversation_sessions
    ADD COLUMN unlearnt BOOLEAN NOT NULL GENERATED ALWAYS AS (learned_index < last_index) STORED,
    ADD COLUMN unrefined BOOLEAN NOT NULL GENERATED ALWAYS AS (refined_index < last_index) STORED,
    ADD COLUMN untold BOOLEAN NOT NULL GENERATED ALWAYS AS (episode_index < last_index) STORED;
CREATE INDEX idx_conversation_sessions_unlearnt ON conversation_sessions (user_id, session_id) WHERE unlearnt;
CREATE INDEX idx_conversation_sessions_unrefined ON conversation_sessions (user_id, session_id) WHERE unrefined;
CREATE INDEX idx_conversation_sessions_untold ON conversation_sessions (user_id, session_id) WHERE untold;

-- What came lately. Rows lie nearly in the order of these moments: a few bytes for some pages find them.
CREATE INDEX idx_conversation_sessions_created_at ON conversation_sessions
    USING brin (created_at) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX idx_event_ledger_occurred_at ON event_ledger
    USING brin (occurred_at) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX idx_memory_performance_metrics_created_at ON memory_performance_metrics
    USING brin (created_at) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX idx_user_facts_recorded_at ON user_facts
    USING brin (recorded_at) WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX idx_memory_entries_created_at ON memory_entries
    USING brin (created_at) WITH (pages_per_range = 16, autosummarize = on);
