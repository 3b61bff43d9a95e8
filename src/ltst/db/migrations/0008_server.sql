-- What a server needs: keys for those who come in over the network, and a ledger that can be followed.

-- A key is kept as its hash alone. Those of the user `system` open every user's memory.
CREATE TABLE api_keys (
    user_id    VARCHAR(255) NOT NULL,
    key_id     UUID         NOT NULL,
    name       VARCHAR(255) NOT NULL,
    key_hash   VARCHAR(64)  NOT NULL,
    created_at TIMESTAMPTZ  NOT NULL DEFAULT now(),
    last_used  TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ,
    PRIMARY KEY (user_id, key_id)
);
CREATE INDEX idx_api_keys_key_hash ON api_keys (key_hash);

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON api_keys TO ltst_user
    USING (user_id = current_setting('ltst.user_id', true)) WITH CHECK (user_id = current_setting('ltst.user_id', true));
CREATE POLICY all_rows ON api_keys TO ltst_keeper USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON api_keys TO ltst_user, ltst_keeper;

-- Numbers are given out before transactions end, so a later number can be seen before an earlier one. Whoever follows
-- the ledger goes by transactions instead, and waits until all that began before an event have ended.
ALTER TABLE event_ledger ADD COLUMN xact XID8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX idx_event_ledger_order ON event_ledger (xact, event_id);
CREATE INDEX idx_event_ledger_user_order ON event_ledger (user_id, xact, event_id);
