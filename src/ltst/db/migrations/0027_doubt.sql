-- How likely something said later took the place of what a message states, where no statement says so for certain.

ALTER TABLE statements
    ADD COLUMN doubt REAL NOT NULL DEFAULT 0 CHECK (doubt BETWEEN 0 AND 1),
    -- The later message.
    ADD COLUMN doubted_by UUID;
CREATE INDEX idx_statements_doubted_by ON statements (user_id, doubted_by) WHERE doubted_by IS NOT NULL;
-- What was compared before there was a doubt is compared again.
UPDATE statements SET compared = false WHERE rejected_at IS NULL;

CREATE OR REPLACE FUNCTION ltst_outdated(whose TEXT, message UUID) RETURNS REAL LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT greatest(avg(CASE WHEN superseded_at IS NULL THEN 0 ELSE 1 END), max(doubt))
        FROM statements WHERE user_id = whose AND message_id = message AND rejected_at IS NULL), 0);
END $$;

DROP TRIGGER statement_moved_trigger ON statements;
CREATE TRIGGER statement_moved_trigger AFTER UPDATE OF superseded_at, rejected_at, doubt ON statements
    FOR EACH ROW
    WHEN ((OLD.superseded_at, OLD.rejected_at, OLD.doubt) IS DISTINCT FROM (NEW.superseded_at, NEW.rejected_at, NEW.doubt))
    EXECUTE FUNCTION ltst_statement_moved();

-- What a statement took the place of, or cast doubt on, holds again when it goes, and is compared anew.
CREATE OR REPLACE FUNCTION ltst_statements_removed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    -- It is called for each message that goes, and few of them state anything.
    IF NOT EXISTS (SELECT FROM gone) THEN
        RETURN NULL;
    END IF;
    UPDATE statements AS older SET superseded_by = NULL, superseded_at = NULL, compared = false
    FROM gone WHERE older.user_id = gone.user_id AND older.superseded_by = gone.statement_id;
    UPDATE statements AS older SET doubt = 0, doubted_by = NULL, compared = false
    FROM gone WHERE older.user_id = gone.user_id AND older.doubted_by = gone.message_id;
    RETURN NULL;
END $$;
