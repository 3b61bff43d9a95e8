-- Learning: what is drawn from messages. Claims are what a message says; facts, preferences and instructions are
-- folded from them anew whenever a claim comes or goes, so that nothing stays that nobody said.

CREATE TABLE claims (
    user_id       VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    claim_id      UUID NOT NULL DEFAULT gen_random_uuid(),
    message_id    UUID NOT NULL,
    noun          VARCHAR(50) NOT NULL CHECK (noun IN ('fact', 'preference', 'instruction')),
    -- Of an instruction, the agent that it is for.
    claim_key     VARCHAR(255) NOT NULL CHECK (claim_key <> ''),
    claim_value   TEXT NOT NULL,
    change        VARCHAR(50) NOT NULL DEFAULT 'holds' CHECK (change IN ('holds', 'ends')),
    single_valued BOOLEAN NOT NULL DEFAULT true,
    confidence    FLOAT NOT NULL DEFAULT 0.8 CHECK (confidence BETWEEN 0 AND 1),
    -- When it was said, and from when on it holds or does not hold any more.
    said_at       TIMESTAMPTZ NOT NULL,
    valid_from    TIMESTAMPTZ NOT NULL,
    valid_to      TIMESTAMPTZ,
    -- Who read it out of the message: local rules, or a language model.
    reader        VARCHAR(50) NOT NULL DEFAULT 'local',
    details       JSONB NOT NULL DEFAULT '{}',
    recorded_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- The fact or preference that rests on it.
    row_id        UUID,
    PRIMARY KEY (user_id, claim_id),
    FOREIGN KEY (user_id, message_id) REFERENCES conversation_messages ON DELETE CASCADE
);
-- The same message says the same thing once, whoever reads it and however often.
CREATE UNIQUE INDEX idx_claims_message ON claims (
    user_id, message_id, noun, ltst_sha256(claim_key || chr(31) || lower(claim_value)), change);
CREATE INDEX idx_claims_key ON claims (user_id, noun, claim_key);
CREATE INDEX idx_claims_row_id ON claims (user_id, row_id) WHERE row_id IS NOT NULL;

-- What must be folded anew because claims are gone.
CREATE TABLE unsettled_claims (
    user_id   VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    noun      VARCHAR(50) NOT NULL,
    claim_key VARCHAR(255) NOT NULL,
    PRIMARY KEY (user_id, noun, claim_key)
);

ALTER TABLE user_facts
    ADD COLUMN learned BOOLEAN NOT NULL DEFAULT false,
    -- When the user said that it is over, although nothing has taken its place.
    ADD COLUMN ended_at TIMESTAMPTZ;
ALTER TABLE user_preferences ADD COLUMN learned BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE user_agent_prompt_customizations ADD COLUMN learned BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE memory_entries
    ADD COLUMN learned BOOLEAN NOT NULL DEFAULT false,
    -- Whether it was compared with the others, to be merged with its like and to relate its conversation.
    ADD COLUMN consolidated BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX idx_memory_entries_unconsolidated ON memory_entries (user_id) WHERE NOT consolidated;
ALTER TABLE session_relationships ADD COLUMN learned BOOLEAN NOT NULL DEFAULT false;

-- How far a language model has read, how far episodes have been written, and how far the running summary tells.
ALTER TABLE conversation_sessions
    ADD COLUMN refined_index    INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN episode_index    INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN summarised_index INTEGER NOT NULL DEFAULT 0;

-- Work that somebody holds, or that failed. What is due stands in the rows themselves, so this table may be emptied
-- at any time: nothing is lost with it but the memory of failures.
CREATE TABLE derived_work (
    user_id      VARCHAR(255) NOT NULL CHECK (user_id <> ''),
    task         VARCHAR(50) NOT NULL,
    subject      VARCHAR(255) NOT NULL DEFAULT '',
    -- Counted when it is taken up, so that a crash counts too.
    attempts     INTEGER NOT NULL DEFAULT 1,
    holder       UUID,
    leased_until TIMESTAMPTZ,
    not_before   TIMESTAMPTZ NOT NULL DEFAULT now(),
    reason       TEXT,
    set_aside_at TIMESTAMPTZ,
    PRIMARY KEY (user_id, task, subject)
);

-- What is learnt about a user, where it differs from the settings.
CREATE TABLE user_learning (
    user_id  VARCHAR(255) NOT NULL PRIMARY KEY CHECK (user_id <> ''),
    switches JSONB NOT NULL DEFAULT '{}'
);

CREATE TABLE model_usage (
    day           DATE NOT NULL DEFAULT current_date,
    model         TEXT NOT NULL,
    calls         BIGINT NOT NULL DEFAULT 0,
    failures      BIGINT NOT NULL DEFAULT 0,
    input_tokens  BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    seconds       FLOAT NOT NULL DEFAULT 0,
    cost          FLOAT,
    PRIMARY KEY (day, model)
);

-- What rested on claims that are gone goes with them, at once; what else rested on them is folded anew.
CREATE FUNCTION ltst_unlearn() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    -- It is called for each message that goes, and few of them say anything.
    IF NOT EXISTS (SELECT FROM gone) THEN
        RETURN NULL;
    END IF;
    WITH unsupported AS (
        DELETE FROM user_facts AS fact USING gone
        WHERE fact.user_id = gone.user_id AND fact.fact_id = gone.row_id AND fact.learned
          AND NOT EXISTS (SELECT FROM claims AS claim
                          WHERE claim.user_id = fact.user_id AND claim.row_id = fact.fact_id)
        RETURNING fact.user_id, 'fact' AS noun, fact.fact_id::text AS row_id
    ), unwanted AS (
        DELETE FROM user_preferences AS preference USING gone
        WHERE preference.user_id = gone.user_id AND preference.preference_id = gone.row_id AND preference.learned
          AND NOT preference.metadata ? 'by_hand'
          AND NOT EXISTS (SELECT FROM claims AS claim
                          WHERE claim.user_id = preference.user_id AND claim.row_id = preference.preference_id)
        RETURNING preference.user_id, 'preference', preference.preference_id::text
    ), untold AS (
        DELETE FROM user_agent_prompt_customizations AS instruction USING gone
        WHERE gone.noun = 'instruction' AND instruction.user_id = gone.user_id
          AND instruction.agent_name = gone.claim_key AND instruction.learned
        RETURNING instruction.user_id, 'instruction', instruction.id::text
    )
    INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
    SELECT user_id, 'learning', 'unlearn', noun, row_id
    FROM (SELECT * FROM unsupported UNION SELECT * FROM unwanted UNION SELECT * FROM untold) AS removed;
    INSERT INTO unsettled_claims (user_id, noun, claim_key)
    SELECT DISTINCT user_id, noun, claim_key FROM gone ORDER BY user_id, noun, claim_key
    -- Not nothing: whoever folds a key that was unsettled before must see that it is so again.
    ON CONFLICT (user_id, noun, claim_key) DO UPDATE SET claim_key = excluded.claim_key;
    RETURN NULL;
END $$;
CREATE TRIGGER unlearn_trigger AFTER DELETE ON claims
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_unlearn();

-- An episode goes with the messages that it tells of, and what follows is told anew; so do the running summary and the
-- links that were found by the episode.
CREATE FUNCTION ltst_untell() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    lost RECORD;
    told_from INTEGER;
BEGIN
    FOR lost IN
        SELECT user_id, session_id, min(message_index) AS first
        FROM gone GROUP BY user_id, session_id ORDER BY user_id, session_id
    LOOP
        WITH untold AS (
            DELETE FROM memory_entries AS entry
            WHERE entry.user_id = lost.user_id AND entry.session_id = lost.session_id AND entry.learned
              AND entry.metadata #> '{messages,1}' >= to_jsonb(lost.first)
            RETURNING entry.entry_id, entry.metadata #> '{messages,0}' AS first
        ), noted AS (
            INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
            SELECT lost.user_id, 'learning', 'unlearn', 'entry', entry_id::text FROM untold
        )
        SELECT min(CASE jsonb_typeof(first) WHEN 'number' THEN first::integer ELSE 1 END) INTO told_from FROM untold;
        IF told_from IS NOT NULL THEN
            WITH unrelated AS (
                DELETE FROM session_relationships AS link
                WHERE link.user_id = lost.user_id AND link.learned
                  AND lost.session_id IN (link.source_session_id, link.target_session_id)
                RETURNING link.relationship_id
            )
            INSERT INTO event_ledger (user_id, actor, action, noun, row_id)
            SELECT lost.user_id, 'learning', 'unlearn', 'relationship', relationship_id::text FROM unrelated;
        END IF;
        UPDATE conversation_sessions AS session
        SET episode_index = greatest(0, least(episode_index, told_from - 1)),
            context_summary = CASE WHEN summarised_index < lost.first THEN context_summary END,
            summarised_index = CASE WHEN summarised_index < lost.first THEN summarised_index ELSE 0 END
        WHERE session.user_id = lost.user_id AND session.session_id = lost.session_id
          AND (told_from IS NOT NULL OR summarised_index >= lost.first);
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER untell_trigger AFTER DELETE ON conversation_messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ltst_untell();

DO $$
DECLARE
    table_name TEXT;
BEGIN
    FOREACH table_name IN ARRAY ARRAY['claims', 'unsettled_claims', 'derived_work', 'user_learning'] LOOP
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
ALTER TABLE model_usage ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_usage FORCE ROW LEVEL SECURITY;
CREATE POLICY everyone ON model_usage USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON model_usage TO ltst_keeper;
