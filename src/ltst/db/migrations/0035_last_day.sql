-- Which sessions were active lately, found by an index that stays true. The moment itself changes with each message; an
-- index by pages only ever widens, so that one old session that goes on makes its pages look new for good. The day
-- changes once a day, and all other updates of the row stay on its page (HOT).
ALTER TABLE conversation_sessions
    ADD COLUMN last_day DATE NOT NULL GENERATED ALWAYS AS ((last_activity AT TIME ZONE 'UTC')::date) STORED;
DROP INDEX idx_conversation_sessions_last_activity;
CREATE INDEX idx_conversation_sessions_last_activity ON conversation_sessions (last_day);
