-- Upkeep that costs by what is new or due: the sessions of a user that have rested long enough for their policy, and the
-- contexts that came lately.
CREATE INDEX idx_conversation_sessions_last_day ON conversation_sessions (user_id, last_day);
CREATE INDEX idx_conversation_context_created_at ON conversation_context
    USING brin (created_at) WITH (pages_per_range = 16, autosummarize = on);
-- Whether a conversation that goes on has grown long is told by its index: its messages lie among those of others.
DROP INDEX idx_conversation_messages_message_index;
CREATE UNIQUE INDEX idx_conversation_messages_message_index
    ON conversation_messages (user_id, session_id, message_index) INCLUDE (token_count);
